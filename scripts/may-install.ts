/**
 * Returns `false` if `HUBLINE_NO_INSTALL=1` forbids the scripts to install anything on this machine.
 *
 * @param env environment variables to read
 */
export function mayInstall(env: NodeJS.ProcessEnv): boolean {
  return env['HUBLINE_NO_INSTALL'] !== '1';
}

/** Sentence that tells how to keep the scripts from installing anything. */
export const optOutHint = 'HUBLINE_NO_INSTALL=1 prints instructions instead.';

/** Command of apt that asks nothing, and waits while another process, such as an automatic upgrade, installs packages. */
export const aptGet: readonly string[] = [
  ...['env', 'DEBIAN_FRONTEND=noninteractive'],
  ...['apt-get', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=5'],
];
