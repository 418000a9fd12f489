import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { InvalidGrantError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import express from 'express';
import { onTestFinished } from 'vitest';
import type { Refusal } from './mcp-server.fixture.js';

/** Authorization server of the official SDK, whose user grants access at once. */
export interface OAuthServer {
  /** Refuses a request without a valid token. @param authorization header of the request */
  guard(authorization: string | undefined): Refusal | undefined;
  /** Protects the server with this URL. */
  protect(mcpUrl: string): void;
  /** Ends all access tokens, and the refresh tokens too if `all` is set. */
  expire(all?: boolean): void;
  /** Headers of the requests so far, each as one text. */
  readonly headers: readonly string[];
  /** Access tokens so far. */
  readonly tokens: readonly string[];
}

/** Starts an authorization server. */
export async function startOAuthServer(): Promise<OAuthServer> {
  const clients = new Map<string, OAuthClientInformationFull>();
  const challenges = new Map<string, string>();
  const valid = { access: new Set<string>(), refresh: new Set<string>() };
  const headers: string[] = [];
  const tokens: string[] = [];
  const issue = (): OAuthTokens => {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    tokens.push(access_token);
    valid.access.add(access_token);
    valid.refresh.add(refresh_token);
    return { access_token, refresh_token, token_type: 'bearer', expires_in: 3_600 };
  };
  const app = express();
  const http = createServer(app);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  app.use((request, _response, next) => {
    headers.push(JSON.stringify(request.headers));
    next();
  });
  return {
    headers,
    tokens,
    protect(mcpUrl) {
      const router = mcpAuthRouter({
        issuerUrl: new URL(origin),
        resourceServerUrl: new URL(mcpUrl),
        provider: {
          clientsStore: {
            getClient: (id) => clients.get(id),
            registerClient: (client) => {
              const full = { ...client, client_id: randomUUID(), client_id_issued_at: 1 };
              clients.set(full.client_id, full);
              return full;
            },
          },
          async authorize(_client, { codeChallenge, redirectUri, state = '' }, response) {
            const code = randomUUID();
            challenges.set(code, codeChallenge);
            response.redirect(`${redirectUri}?code=${code}&state=${state}`);
          },
          async challengeForAuthorizationCode(_client, code) {
            const challenge = challenges.get(code);
            if (challenge === undefined) throw new InvalidGrantError(`unknown code ${code}`);
            return challenge;
          },
          exchangeAuthorizationCode: async () => issue(),
          async exchangeRefreshToken(_client, refreshToken) {
            if (!valid.refresh.delete(refreshToken)) throw new InvalidGrantError(`unknown token ${refreshToken}`);
            return issue();
          },
          verifyAccessToken: () => Promise.reject(new Error('unused')),
        },
      });
      app.use(router);
    },
    guard(authorization) {
      if (valid.access.has(authorization?.replace('Bearer ', '') ?? '')) return undefined;
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return { status: 401, body: '{}', headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` } };
    },
    expire(all = false) {
      valid.access.clear();
      if (all) valid.refresh.clear();
    },
  };
}

/** Client whose store any process may share, and the pages to which it sent its user. */
export function storedClient(pages: URL[], store: Map<string, unknown> = new Map()): OAuthClientProvider {
  // What was stored has the type under which it was stored.
  const read = <T>(name: string) => store.get(name) as T | undefined;
  return {
    redirectUrl: 'http://127.0.0.1:1/callback',
    clientMetadata: {
      client_name: 'test',
      redirect_uris: ['http://127.0.0.1:1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    clientInformation: () => read('client'),
    saveClientInformation: (client) => void store.set('client', client),
    tokens: () => read('tokens'),
    saveTokens: (tokens) => void store.set('tokens', tokens),
    redirectToAuthorization: (url) => void pages.push(url),
    saveCodeVerifier: (verifier) => void store.set('verifier', verifier),
    codeVerifier: () => read<string>('verifier') ?? '',
  };
}

/** Grants access on the page to which a client sent its user, and returns the code. */
export async function grant(page: URL | undefined): Promise<string> {
  if (page === undefined) throw new Error('no page');
  const { headers } = await fetch(page, { redirect: 'manual' });
  return new URL(headers.get('location') ?? '').searchParams.get('code') ?? '';
}
