import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/** Name of the file with the licenses, beside the bundle. */
const licensesFile = 'THIRD-PARTY-LICENSES.txt';

/** Package whose code is in the bundle. */
interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
  /** Texts of its license and notice files. */
  readonly texts: readonly string[];
}

/**
 * Returns a plugin that writes the licenses of the packages in the bundle into {@link licensesFile}. The build fails if
 * two versions of a package are in it, or if one has no license.
 */
export function bundledLicenses(): Plugin {
  return {
    name: 'bundled-licenses',
    apply: 'build',
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const output of Object.values(bundle)) {
        if (output.type === 'asset') continue;
        for (const [id, { renderedLength }] of Object.entries(output.modules)) {
          const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
          if (folder !== undefined && renderedLength > 0) folders.add(folder);
        }
      }
      const source = describeLicenses([...folders].map(readPackage));
      this.emitFile({ type: 'asset', fileName: licensesFile, source });
    },
  };
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)(\.|$)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { name, version, license, texts };
}

/** @throws {Error} if two versions of a package are among them, or if one has no license */
export function describeLicenses(packages: readonly BundledPackage[]): string {
  const sorted = packages.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const sections = ['Hubline contains code of these packages. Parts that it does not use are removed.'];
  for (const [index, { name, version, license, texts }] of sorted.entries()) {
    const other = sorted[index + 1];
    if (other?.name === name) {
      const versions = `${version} and ${other.version}`;
      throw new Error(`${versions} of ${name} would be bundled: align them with "overrides" in package.json`);
    }
    // The text of the Apache License is below.
    if (texts.length === 0 && license !== 'Apache-2.0') throw new Error(`${name}@${version} has no license file`);
    sections.push([`${name} ${version} (${license})`, ...texts].join('\n\n'));
  }
  if (sorted.some(({ license }) => license === 'Apache-2.0')) sections.push(readFileSync(apacheFile, 'utf8').trimEnd());
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

const apacheFile = join(import.meta.dirname, 'apache-2.0.txt');
