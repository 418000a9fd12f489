import type { Redactor } from '../redaction/redactor.js';
import type { Logger } from '../transports/logger.js';
import type { Envelope, TransportManager } from '../transports/transport.js';
import type { AgentReporter } from './events/agent-support/reported-agents.js';
import type { RegisteredEvent } from './events/definition/event.js';
import type { Cause, Draft } from './events/draft.js';
import type { EmitOptions } from './events/emit.js';
import { type FollowUpHost, prepareFollowUps } from './events/follow-ups/prepare-follow-ups.js';
import type { HubSettings } from './hub-options.js';
import type { Publisher } from './publisher.js';
import type { EventRef } from './references/event-ref.js';
import type { WorkflowRef } from './references/workflow-ref.js';
import type { Registry } from './registration/registry.js';
import type { AnyWorkflow } from './runs/definition/workflow.js';
import type { RunHost } from './runs/engine/steps/run-host.js';
import type { RegisteredSchedule } from './schedules/schedule.js';
import type { ScheduleHost } from './schedules/scheduler.js';

/** The part of a hub that its handlers, runs and schedules use. */
export class HubHost implements RunHost, ScheduleHost, FollowUpHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  readonly reportedAgents: AgentReporter;
  readonly #registry: Registry;
  readonly #publisher: Publisher;

  constructor(
    transport: TransportManager,
    { logger, maxPayloadBytes, redactor }: Pick<HubSettings, 'logger' | 'maxPayloadBytes' | 'redactor'>,
    registry: Registry,
    publisher: Publisher,
  ) {
    this.transport = transport;
    this.logger = logger;
    this.maxPayloadBytes = maxPayloadBytes;
    this.redactor = redactor;
    this.reportedAgents = registry.reportedAgents;
    this.#registry = registry;
    this.#publisher = publisher;
  }

  eventType(event: EventRef<never, unknown> | string): string {
    return this.#registry.event(event).type;
  }

  findEvent(type: string): RegisteredEvent | undefined {
    return this.#registry.findEvent(type);
  }

  findWorkflow(workflow: WorkflowRef<never> | string): AnyWorkflow {
    return this.#registry.workflow(workflow);
  }

  draftEvent(
    cause: Cause,
    target: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft> {
    return this.#publisher.draft(this.#registry.event(target), payload, options, cause);
  }

  draftRun(
    cause: Cause,
    target: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft> {
    return this.#publisher.draftRun(this.#registry.workflow(target), input, options, cause);
  }

  prepareFollowUps(envelopes: readonly Envelope[]): readonly Envelope[] | Promise<readonly Envelope[]> {
    return prepareFollowUps(envelopes, this);
  }

  prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope> {
    const { name, payload } = schedule;
    const target = this.#registry.targetOf(schedule);
    const value: unknown = typeof payload === 'function' ? payload(new Date(dueAt)) : payload;
    return this.#publisher.prepareScheduled(name, dueAt, target, value);
  }
}
