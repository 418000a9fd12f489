import type { NextConfig } from 'next';

export default {
  // Loaded by Node as it is, so that all routes share one copy.
  serverExternalPackages: ['hubline'],
} satisfies NextConfig;
