/** Whether an `Accept-Encoding` header allows a content coding (RFC 9110, section 12.5.3). */
export function acceptsEncoding(header: string | undefined, coding: 'br' | 'gzip'): boolean {
  if (header === undefined) return false;
  let wildcard = false;
  for (const item of header.split(',')) {
    const [name = '', ...parameters] = item.split(';');
    const listed = name.trim().toLowerCase();
    if (listed === coding) return !isRefused(parameters);
    if (listed === '*') wildcard = !isRefused(parameters);
  }
  return wildcard;
}

function isRefused(parameters: readonly string[]): boolean {
  return parameters.some((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() === 'q' && !(Number(value) > 0);
  });
}
