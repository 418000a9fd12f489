import { describe, expect, it } from 'vitest';
import { readPage } from './read-page.js';

const page = (head: string, body = ''): string =>
  `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;
const script = '<script type="module">start(1 < 2);</script>';
const style = '<style>a{color:red}</style>';

describe('readPage', () => {
  it('returns the inline scripts and styles as a browser hashes them', () => {
    const html = page(`<script>\n a("<style>")\n</script ><STYLE media=all>b{}</STYLE>${script}${style}`);
    expect(readPage(html)).toEqual({
      scripts: ['\n a("<style>")\n', 'start(1 < 2);'],
      styles: ['b{}', 'a{color:red}'],
    });
  });

  it('ignores comments', () => {
    const html = page(`<!-- <script src="a.js"></script> -->${script}${style}`);
    expect(readPage(html)).toEqual({ scripts: ['start(1 < 2);'], styles: ['a{color:red}'] });
  });

  it.each([
    ['a data: icon', '<link rel="icon" href="data:,">', ''],
    ['a link to follow', '', '<a href="https://example.com/">Docs</a>'],
    ['an SVG reference', '', '<svg><use href="#icon"/></svg>'],
    ['markup in a script', '<script>h("<img src=a.png onload=b>")</script>', ''],
    ['a data: image in a style', '<style>a{background:url("data:image/png;base64,AA")}</style>', ''],
    ['a ">" in an attribute', '<meta content="a>b" name="c">', ''],
  ])('accepts %s', (_, head, body) => {
    expect(() => readPage(page(head + script + style, body))).not.toThrow();
  });

  it.each([
    ['<script src="/a.js"></script>', '<script src="/a.js">'],
    ['<script type=module src=a.js></script>', '<script src="a.js">'],
    ['<link rel="stylesheet" href="/a.css">', '<link href="/a.css">'],
    ["<link rel=modulepreload href='./b.js'>", '<link href="./b.js">'],
    ['<img src="https://example.com/a.png">', '<img src="https://example.com/a.png">'],
    ['<img srcset="a.png 2x">', '<img srcset="a.png 2x">'],
    ['<iframe src=//example.com></iframe>', '<iframe src="//example.com">'],
    ['<object data="a.swf"></object>', '<object data="a.swf">'],
    ['<base href="/">', '<base href="/">'],
    ['<style>@import "a.css";</style>', 'a style of the page loads a file'],
    ['<style>a{background:url(a.png)}</style>', 'a style of the page loads a file'],
    ['<style>a{background:url( "//example.com/a.png" )}</style>', 'a style of the page loads a file'],
  ])('rejects %s, which loads a resource', (head, named) => {
    expect(() => readPage(page(head + script + style))).toThrow(named);
  });

  it.each(['<p onclick="a()">', '<p style="color:red">', '<script>"<!--"</script>'])(
    'rejects %s, which the policy would block',
    (markup) => {
      expect(() => readPage(page(script + style, markup))).toThrow(/policy would block|contains "<!--"/);
    },
  );

  it('rejects a page without a script or a style', () => {
    expect(() => readPage(page(style))).toThrow('no inline script');
    expect(() => readPage(page(script))).toThrow('no inline style');
  });
});
