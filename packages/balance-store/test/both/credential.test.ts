import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { generateCredential, hashCredential, hintOf, pepperIdOf } from '../../src/credential.js';
import { isWellFormedCredential } from '../../src/index.js';

describe('a credential', () => {
  it('consists of gw_, 43 random characters, and 6 characters for the CRC-32 of the rest', () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    for (let round = 0; round < 200; round += 1) {
      const credential = generateCredential();
      expect(credential).toMatch(/^gw_[0-9A-Za-z]{49}$/);
      const checksum = Array.from(credential.slice(46)).reduce(
        (value, character) => value * 62 + alphabet.indexOf(character),
        0,
      );
      expect(checksum).toBe(crc32(credential.slice(0, 46)));
      expect(isWellFormedCredential(credential)).toBe(true);
    }
  });

  it('differs every time', () => {
    const credentials = Array.from({ length: 1_000 }, generateCredential);
    expect(new Set(credentials).size).toBe(1_000);
  });

  // F62
  it('is not well-formed after a change of any character', () => {
    const credential = generateCredential();
    for (let index = 0; index < credential.length; index += 1) {
      const other = credential[index] === 'a' ? 'b' : 'a';
      const changed = credential.slice(0, index) + other + credential.slice(index + 1);
      expect(isWellFormedCredential(changed)).toBe(false);
    }
  });

  it('is refused in any other shape', () => {
    const credential = generateCredential();
    for (const text of [
      '',
      'gw_',
      'sk-ant-api03-x',
      `${credential}\0`,
      ` ${credential}`,
      credential.toUpperCase(),
      '🙂'.repeat(26),
    ]) {
      expect(isWellFormedCredential(text)).toBe(false);
    }
  });

  it('has a hint that shows its ends only', () => {
    expect(hintOf('gw_Ab3dXXXXXXXX9xYz')).toBe('gw_Ab3d…9xYz');
  });

  it('has another hash under another pepper, and each pepper has an id of its own', () => {
    const credential = generateCredential();
    expect(hashCredential(credential, 'a')).toEqual(hashCredential(credential, 'a'));
    expect(hashCredential(credential, 'a')).not.toEqual(hashCredential(credential, 'b'));
    expect(pepperIdOf('a')).toMatch(/^[0-9a-f]{16}$/);
    expect(pepperIdOf('a')).not.toBe(pepperIdOf('b'));
  });
});
