/**
 * Returns the URL at which the dashboard is mounted, with a trailing slash. The JSON routes are relative to it at any
 * mount path and behind a proxy that strips a prefix.
 */
export function baseUrl(location: Pick<Location, 'origin' | 'pathname'>): string {
  return location.origin + location.pathname.replace(/\/*$/, '/');
}
