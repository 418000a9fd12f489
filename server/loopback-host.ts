/** Returns `true` if a host name or address stays on this machine. @param host with or without brackets */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === '::1' || /^127(\.\d{1,3}){3}$/.test(name) || /^(.+\.)?localhost$/.test(name);
}
