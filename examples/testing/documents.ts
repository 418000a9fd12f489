import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root folder of the repository. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of a document. */
export interface Fence {
  /** Language after the opening fence, such as `ts`. */
  readonly language: string;
  readonly code: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
}

/** A Markdown file of the project. */
export interface Document {
  /** Path from the root, such as `docs/events.md`. */
  readonly path: string;
  readonly fences: readonly Fence[];
  /** Targets of links and sources of pictures, unchanged. */
  readonly links: readonly string[];
  /** Anchors of the headings, without `#`. */
  readonly anchors: readonly string[];
}

/** The Markdown files of the root folder, of `docs/`, of `docs/guides/` and of `examples/next/`. */
export const documents: readonly Document[] = readDocuments(root);

/** Reads the Markdown files of a checkout or of an unpacked package. */
export function readDocuments(folder: string): Document[] {
  return ['.', 'docs', 'docs/guides', 'examples/next']
    .flatMap((path) =>
      readdirSync(join(folder, path))
        .filter((file) => file.endsWith('.md'))
        .map((file) => join(path, file)),
    )
    .map((path) => readDocument(path, readFileSync(join(folder, path), 'utf8')));
}

/** Returns a message for each relative link whose file or anchor does not exist below `folder`. */
export function brokenLinks(folder: string, all: readonly Document[]): string[] {
  return all.flatMap(({ path, links, anchors }) =>
    links
      .filter((link) => !/^(https?|mailto):/.test(link))
      .filter((link) => {
        const [file = '', anchor] = link.split('#');
        const target = normalize(join(dirname(path), file));
        if (target.startsWith('..') || !existsSync(join(folder, target))) return true;
        if (anchor === undefined) return false;
        const there = file === '' ? anchors : all.find((document) => document.path === target)?.anchors;
        return there?.includes(anchor) !== true;
      })
      .map((link) => `${path}: ${link}`),
  );
}

/** Returns the text of a file. @param path from the root of the repository */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function readDocument(path: string, content: string): Document {
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: { marker: string; language: string; line: number; code: string[] } | undefined;
  for (const [index, text] of content.split('\n').entries()) {
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

/** Returns the anchor that Markdown renderers derive from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
