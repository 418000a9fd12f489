import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { finishMcpAuthorization, McpAuthorizationError, type McpTools, mcpTools } from 'hubline/agents';

/** Row of your database: the access of one user to one server. Encrypt it, because it holds tokens. */
export interface Access {
  client?: OAuthClientInformationMixed;
  tokens?: OAuthTokens;
  verifier?: string;
  /** Page on which the user grants access. */
  page?: string;
}

/** OAuth client whose state is a row, so that any process continues what another one began. */
export function oauthClient(redirectUrl: string, access: Access, save: () => Promise<void>): OAuthClientProvider {
  return {
    redirectUrl,
    clientMetadata: { client_name: 'My application', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
    clientInformation: () => access.client,
    saveClientInformation: (client) => update({ client }),
    tokens: () => access.tokens,
    saveTokens: (tokens) => update({ tokens }),
    redirectToAuthorization: (page) => update({ page: page.href }),
    saveCodeVerifier: (verifier) => update({ verifier }),
    codeVerifier: () => access.verifier ?? '',
  };

  function update(change: Access): Promise<void> {
    Object.assign(access, change);
    return save();
  }
}

/** Connects to a server, or returns the page on which the user has to grant access first. */
export async function connectFor(
  url: string,
  authProvider: OAuthClientProvider,
  access: Access,
): Promise<McpTools | string> {
  try {
    return await mcpTools({ url, authProvider });
  } catch (error) {
    if (error instanceof McpAuthorizationError && access.page !== undefined) return access.page;
    throw error;
  }
}

/** Ends the authorization in the handler of `redirectUrl`. */
export async function onCallback(url: string, authProvider: OAuthClientProvider, callback: URL): Promise<void> {
  await finishMcpAuthorization({ url, authProvider }, callback.searchParams.get('code') ?? '');
}
