import type { DebateRound } from './debate-result.js';

/** Data of the prompt for one participant in one round. */
export interface SpeakerPrompt {
  readonly topic: string;
  readonly speaker: string;
  /** Participants of this round, the speaker included. */
  readonly speakers: readonly string[];
  /** The rounds before this one. */
  readonly earlier: readonly DebateRound[];
  readonly maxRounds: number;
}

/** Returns the prompt for a participant: the topic, and all contributions of earlier rounds. */
export function speakerPrompt({ topic, speaker, speakers, earlier, maxRounds }: SpeakerPrompt): string {
  const others = speakers.filter((other) => other !== speaker);
  const isFirst = earlier.length === 0;
  const task = isFirst
    ? 'State your position and your reasons.'
    : 'Respond to the other participants: where they are right, where they are wrong, and what your position is now.';
  return sections(
    `You are ${speaker} in a debate with ${others.join(', ')}. This is round ${earlier.length + 1} of at most ${maxRounds}.`,
    `Topic: ${topic}`,
    ...earlier.map(roundText),
    task,
  );
}

/** Returns the prompt for the moderator: all contributions of the debate. */
export function moderatorPrompt(topic: string, rounds: readonly DebateRound[]): string {
  return sections(
    'You are the moderator of a debate that has ended.',
    `Topic: ${topic}`,
    ...rounds.map(roundText),
    'Write the synthesis: points of agreement, open points, and the conclusion.',
  );
}

/** Returns the contributions of a round, each under its speaker's name, without those that failed. */
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
