import { describe, expect, it } from 'vitest';
import { LuaFragment, resolveIncludes } from './lua-fragment.js';
import { Script } from './script.js';

const base = new LuaFragment('local base = 1');
const left = new LuaFragment('local left = base', [base]);
const right = new LuaFragment('local right = base', [base, left]);

describe('resolveIncludes', () => {
  it('puts each fragment once, after the fragments that it includes', () => {
    expect(resolveIncludes([right, left])).toEqual([base, left, right]);
  });
});

describe('Script', () => {
  it('starts with a header, then the includes, then its own Lua', () => {
    const script = new Script({ purpose: 'Adds.', argv: 'none', reply: 'a sum', includes: [left], lua: 'return left' });
    expect(script.lua.split('\n').slice(0, 6)).toEqual([
      '--[[',
      'Adds.',
      'KEYS[1]  prefix of the transport, a hash tag from which every key is derived',
      'ARGV     none',
      'Reply    a sum',
      ']]',
    ]);
    expect(script.lua).toContain('local base = 1\nlocal left = base\nreturn left');
  });
});
