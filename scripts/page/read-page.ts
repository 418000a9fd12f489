/** Inline scripts and styles of a page, in document order. */
export interface PageParts {
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
}

const commentOrRawElement = /<!--[\s\S]*?-->|(<(script|style)\b[^>]*>)([\s\S]*?)<\/\2\s*>/gi;
const startTag = /<([a-z][\w-]*)((?:"[^"]*"|'[^']*'|[^'">])*)>/gi;
const attribute = /([^\s"'=<>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
const cssLoad = /@import\b|url\(\s*["']?(?!["']?(?:data:|#))/i;
const loadingAttributes = new Set(['src', 'srcset', 'href', 'xlink:href', 'data', 'poster', 'background']);

/**
 * Returns the inline scripts and styles of a built page. Rejects a page that loads other resources or that its own content
 * security policy would block.
 *
 * @throws {Error} naming the offending part
 */
export function readPage(html: string): PageParts {
  const scripts: string[] = [];
  const styles: string[] = [];
  const markup = html.replace(commentOrRawElement, (_, tag?: string, name?: string, content = '') => {
    if (tag === undefined) return '';
    if (name?.toLowerCase() === 'script') scripts.push(content);
    else styles.push(content);
    return tag;
  });
  for (const [, tag = '', attributes = ''] of markup.matchAll(startTag)) checkAttributes(tag.toLowerCase(), attributes);
  if (scripts.length === 0) throw new Error('the page has no inline script: is vite-plugin-singlefile active?');
  if (styles.length === 0) throw new Error('the page has no inline style: is vite-plugin-singlefile active?');
  // A browser may find another end of such a script, and its hash would differ.
  if (scripts.some((script) => script.includes('<!--')))
    throw new Error('an inline script of the page contains "<!--"');
  if (styles.some((style) => cssLoad.test(style))) throw new Error('a style of the page loads a file: inline it');
  return { scripts, styles };
}

function checkAttributes(tag: string, attributes: string): void {
  for (const [, written = '', double, single, bare] of attributes.matchAll(attribute)) {
    const name = written.toLowerCase();
    const value = double ?? single ?? bare ?? '';
    const shown = `<${tag} ${name}="${value.slice(0, 80)}">`;
    if (name === 'style' || name.startsWith('on')) throw new Error(`the page's policy would block ${shown}`);
    const loads = tag !== 'a' && loadingAttributes.has(name);
    if (loads && !/^\s*(?:data:|#)/i.test(value)) throw new Error(`the page loads ${shown}: inline it`);
  }
}
