import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folders = ['../node_modules', '../../node_modules'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/** Returns a package's name with its installed version, such as `moleculer 0.14.36`. */
export function withVersion(name: string): string {
  const file = folders.map((folder) => `${folder}/${name}/package.json`).find(existsSync);
  if (file === undefined) throw new Error(`${name} is not installed: npm install --prefix bench`);
  const { version }: { version?: unknown } = JSON.parse(readFileSync(file, 'utf8'));
  return `${name} ${version}`;
}
