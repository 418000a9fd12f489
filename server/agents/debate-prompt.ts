import type { DebateRound } from './debate-run.js';

/** What a participant is asked in one round. */
export interface Question {
  readonly topic: string;
  readonly speaker: string;
  /** Who takes part in this round, the speaker included. */
  readonly speakers: readonly string[];
  /** The rounds before this one. */
  readonly earlier: readonly DebateRound[];
  readonly maxRounds: number;
}

/** Puts the topic to a participant, with all that was said before this round. */
export function askSpeaker({ topic, speaker, speakers, earlier, maxRounds }: Question): string {
  const others = speakers.filter((other) => other !== speaker);
  const isFirst = earlier.length === 0;
  const task = isFirst
    ? 'State your position and your reasons.'
    : 'Answer what the others said: where they are right, where they are wrong, and what you hold now.';
  return sections(
    `You are ${speaker} in a debate with ${others.join(', ')}. This is round ${earlier.length + 1}, of ${maxRounds} at most.`,
    `Topic: ${topic}`,
    ...earlier.map(roundText),
    task,
  );
}

/** Asks the moderator for the synthesis of a whole debate. */
export function askModerator(topic: string, rounds: readonly DebateRound[]): string {
  return sections(
    'You are the moderator of a debate that has ended.',
    `Topic: ${topic}`,
    ...rounds.map(roundText),
    'Write the synthesis: what is agreed, what stays open, and the conclusion.',
  );
}

/** What was said in a round, each contribution under its speaker's name; nothing of those that failed. */
export function contributionsText({ contributions }: DebateRound): string {
  return sections(
    ...contributions
      .filter(({ error }) => error === undefined)
      .map(({ agentName, output }) => `${agentName}:\n${output}`),
  );
}

function roundText(round: DebateRound): string {
  return sections(`Round ${round.roundNumber}`, contributionsText(round));
}

function sections(...texts: readonly string[]): string {
  return texts.join('\n\n');
}
