import type { BlobStore } from './blob-store.js';

/** Blob store in the memory of a test, with its values. */
export function newBlobs(): { readonly store: BlobStore; readonly values: Map<string, Uint8Array> } {
  const values = new Map<string, Uint8Array>();
  const store: BlobStore = {
    put: async (name, data) => void values.set(name, data),
    get: async (name) => values.get(name),
    delete: async (name) => void values.delete(name),
  };
  return { store, values };
}
