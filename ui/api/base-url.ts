/**
 * The URL that the dashboard is mounted at, with a trailing slash: what the page's two routes are relative to,
 * whatever the mount path and whatever prefix a proxy has stripped.
 */
export function baseUrl(location: Pick<Location, 'origin' | 'pathname'>): string {
  return location.origin + location.pathname.replace(/\/*$/, '/');
}
