export const BRAND_COLOR = '#0b5cad';
export const FAILING_COLOR = '#b3360b';

/** Returns the icon of the tab in a colour, as a data URL. */
export function favicon(color: string): string {
  const path = "<path d='M4.5 3.5v9M11.5 3.5v9M4.5 8h7' stroke='#fff' stroke-width='2'/>";
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='${color}'/>${path}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
