type Coding = 'br' | 'gzip';

const listItems: Readonly<Record<Coding | '*', RegExp>> = {
  br: itemOf('br'),
  gzip: itemOf('gzip'),
  '*': itemOf('\\*'),
};

/** Returns true if an `Accept-Encoding` header allows a content coding (RFC 9110, section 12.5.3). */
export function acceptsEncoding(header: string | undefined, coding: Coding): boolean {
  if (header === undefined) return false;
  const item = listItems[coding].exec(header) ?? listItems['*'].exec(header);
  return item !== null && !isRefused(item[1]);
}

function itemOf(name: string): RegExp {
  return new RegExp(`(?:^|,)\\s*${name}\\s*(;[^,]*)?(?:,|$)`, 'i');
}

function isRefused(parameters: string | undefined): boolean {
  if (parameters === undefined) return false;
  return parameters.split(';').some((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() === 'q' && !(Number(value) > 0);
  });
}
