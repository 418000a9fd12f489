/** A claim, the program below `examples/` that shows it, and all that it prints. */
export interface Proof {
  readonly claim: string;
  readonly file: string;
  readonly prints: string;
}

/** The claims of docs/proofs.md. */
export const proofs: readonly Proof[] = [
  {
    claim: 'a workflow resumes at its interrupted step after kill -9',
    file: 'proofs/killed-workflow.ts',
    prints: 'child packs A-1\nparent ships P-A-1\n',
  },
  {
    claim: 'an agent resumes at its interrupted turn after kill -9',
    file: 'proofs/killed-agent.ts',
    prints: 'It leaves tomorrow. 1 call after the crash\n',
  },
  {
    claim: 'accepted events survive kill -9 without any service',
    file: 'proofs/no-service.ts',
    prints: `the first process ended by SIGKILL
mail to ada
mail to bob
{"received":2,"completed":2,"pending":0}
`,
  },
  {
    claim: 'a large customer does not delay a small one',
    file: 'proofs/fair-keys.ts',
    prints: '1,000 rows of a big customer wait, and the one of a small customer is number 3\n',
  },
  {
    claim: 'a budget ends a run, and is refused if a price is unknown',
    file: 'proofs/closed-budget.ts',
    prints:
      'token_budget_exceeded (tokenBudget) after 1 call and 1100 tokens\nprices of agent "writer" must be set for "unknown" if there is a costBudget, got undefined\n',
  },
  {
    claim: 'another model answers if one is overloaded',
    file: 'proofs/fallback-model.ts',
    prints: 'completed: It leaves tomorrow. 1 second\n',
  },
  {
    claim: 'a test of a wait of two days takes milliseconds',
    file: 'proofs/waiting-workflow.ts',
    prints: 'A-1 shipped A-2 expired\n',
  },
];
