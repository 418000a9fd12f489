import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

// The shell hands a signal to `npm start` to the shop only if it becomes the shop.
const portable = Object.entries(scripts).filter(([name]) => name !== 'start');

it.each(portable)('the script %s runs in every shell', (_, command) => {
  // Double quotes and && mean the same in sh, cmd and PowerShell 7.
  expect(command.replaceAll(/"[^"$`%]*"/g, '')).not.toMatch(
    /[$`'|<>;*~]|(?<!&)&(?!&)|^exec |(?:^|&& )(?:exec|rm|cp|mv|[A-Z_]+=)/,
  );
});
