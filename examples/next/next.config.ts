import type { NextConfig } from 'next';

export default {
  // Not bundled, so that all routes share one copy.
  serverExternalPackages: ['hubline'],
} satisfies NextConfig;
