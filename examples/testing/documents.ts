import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the package begins. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of a document. */
export interface Fence {
  /** What stands behind the opening fence, such as `ts`. */
  readonly language: string;
  readonly code: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
}

/** A Markdown file of the project. */
export interface Document {
  /** From the root of the package, such as `docs/events.md`. */
  readonly path: string;
  readonly fences: readonly Fence[];
  /** Targets of links and sources of pictures, as they are written. */
  readonly links: readonly string[];
  /** What `#...` in a link may name. */
  readonly anchors: readonly string[];
}

/** The Markdown files of the package's root, of `docs/` and of larger examples. */
export const documents: readonly Document[] = ['.', 'docs', 'examples/next'].flatMap(markdownFiles).map(readDocument);

/** The text of a file. @param path from the root of the package */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function markdownFiles(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}

function readDocument(path: string): Document {
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: { marker: string; language: string; line: number; code: string[] } | undefined;
  for (const [index, text] of read(path).split('\n').entries()) {
    const [, marker = '', language = ''] = /^\s*(`{3,}|~{3,})\s*(.*?)\s*$/.exec(text) ?? [];
    if (open === undefined) {
      if (marker === '') prose.push(text);
      else open = { marker, language, line: index + 1, code: [] };
    } else if (marker === open.marker && language === '') {
      fences.push({ ...open, code: open.code.join('\n') });
      open = undefined;
    } else {
      open.code.push(text);
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line}: this fence is never closed`);
  const text = prose.join('\n');
  return {
    path,
    fences,
    links: [...text.matchAll(/(?:\]\(|src="|srcset="|href=")([^)"\s]+)/g)].map(([, target = '']) => target),
    anchors: [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)),
  };
}

/** As those who show Markdown make it of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
