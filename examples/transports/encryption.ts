import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Codec } from 'hubline';

/**
 * Creates a codec that encrypts with AES-256-GCM.
 *
 * @param keys keys of 32 bytes by their ids: the first one encrypts, all decrypt. To rotate, deploy the new key last in
 * the list to all processes, then first; remove the old one when nothing that it encrypted is stored any more
 */
export function createCipherCodec(keys: ReadonlyMap<string, Buffer>): Codec {
  const [current] = keys;
  if (current === undefined) throw new Error('a cipher needs a key');
  const [currentId, currentKey] = current;
  return {
    encode(text) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', currentKey, iv);
      const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return [currentId, Buffer.concat([iv, cipher.getAuthTag(), data]).toString('base64')].join('.');
    },
    decode(text) {
      const [id = '', encoded = ''] = text.split('.');
      const key = keys.get(id);
      if (key === undefined) throw new Error(`there is no key ${JSON.stringify(id)}`);
      const bytes = Buffer.from(encoded, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
    },
  };
}
