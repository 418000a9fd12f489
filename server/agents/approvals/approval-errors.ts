import { HubError, quote } from '../../errors.js';

/** An agent has a tool that needs approval, and nobody can decide on its calls. */
export class NoApproverError extends HubError {
  readonly fatal = true;

  constructor(agentName: string, remedy: string) {
    super(
      'ERR_NO_APPROVER',
      `agent ${quote(agentName)} has tools that need approval, and nobody can decide: ${remedy}`,
    );
  }
}
