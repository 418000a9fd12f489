import { InvalidOptionError, quote } from '../../errors.js';
import { workflowOf, workflowType } from '../../transports/delivery.js';
import type { TransportManager } from '../../transports/transport.js';
import { UnknownRunError, UnknownWorkflowError } from '../errors.js';
import { type HubDescription, isRunning, parseDescription, type WorkflowDescription } from './hub-description.js';

/** Services that run workflows, as the hubs of the transport describe themselves. */
export class WorkflowServices {
  readonly #transport: Pick<TransportManager, 'fleet' | 'lookup'>;

  constructor(transport: Pick<TransportManager, 'fleet' | 'lookup'>) {
    this.#transport = transport;
  }

  /**
   * Returns the service that registered a workflow.
   *
   * @throws {UnknownWorkflowError} if none did
   * @throws {InvalidOptionError} if several did
   */
  async serviceOf(workflow: string): Promise<string> {
    const [service, ...others] = servicesOf(workflow, await this.#hubs());
    if (service === undefined) {
      const remedy = 'no service has registered it: start its service first, or name the service in defineWorkflow';
      throw new UnknownWorkflowError(workflow, [], remedy);
    }
    if (others.length === 0) return service;
    const names = [service, ...others].map(quote).join(', ');
    throw new InvalidOptionError(
      `service of the definition of workflow ${quote(workflow)}`,
      `set, because several services run it: ${names}`,
      undefined,
    );
  }

  /** Returns the service that has a run. @throws {UnknownRunError} */
  async serviceOfRun(workflow: string, runId: string): Promise<string> {
    const found = await this.#transport.lookup.find(runId);
    const event = found.find(({ type, run }) => type === workflowType(workflow) && run !== undefined);
    if (event === undefined) throw new UnknownRunError(workflow, runId);
    return event.service;
  }

  /** Returns the description of a workflow by a process of a service; `undefined` if none registered it. */
  async describe(workflow: string, service: string): Promise<WorkflowDescription | undefined> {
    const hubs = (await this.#hubs()).filter((hub) => hub.service === service);
    return hubs.flatMap(({ workflows }) => workflows).find(({ name }) => name === workflow);
  }

  /**
   * Returns `true` if every hub of a service that registered a type says that all it computes from the input of a run, or
   * from the payload of an event, is stored with it.
   */
  async recordsInput(type: string, service: string): Promise<boolean> {
    const workflow = workflowOf(type);
    const hubs = (await this.#hubs()).filter((hub) => hub.service === service);
    const described: readonly Pick<WorkflowDescription, 'recordsInput'>[] = [
      ...hubs.flatMap(({ events }) => events.filter((event) => event.type === type)),
      ...hubs.flatMap(({ workflows }) => workflows.filter(({ name }) => name === workflow)),
    ];
    return described.length > 0 && described.every(({ recordsInput }) => recordsInput === true);
  }

  /** Returns `true` unless every hub of a service says that no agent runs in the runs of a type. */
  async runsAgents(type: string, service: string): Promise<boolean> {
    const workflow = workflowOf(type);
    const hubs = (await this.#hubs()).filter((hub) => hub.service === service);
    const described = [
      ...hubs
        .flatMap(({ events }) => events.filter((event) => event.type === type && event.kind !== 'declared'))
        .map(({ kind }) => kind === 'agent'),
      ...hubs
        .flatMap(({ workflows }) => workflows.filter(({ name }) => name === workflow))
        // A function may run any agent.
        .map(({ steps }) => steps.length === 0 || steps.some(({ agent }) => agent !== undefined)),
    ];
    return described.length === 0 || described.includes(true);
  }

  /** Returns the error of a workflow that this hub has not registered, and of which it has only the name. */
  async unknownWorkflow(workflow: string, nearest: readonly string[]): Promise<UnknownWorkflowError> {
    const hubs = await this.#hubs();
    const [service] = servicesOf(workflow, hubs);
    if (service === undefined) return new UnknownWorkflowError(workflow, nearest);
    const remedy = `${describeService(service, hubs)}: pass its definition, the result of defineWorkflow, in place of its name`;
    return new UnknownWorkflowError(workflow, [], remedy);
  }

  /** Returns the error of a run that its service does not have. */
  async unknownRun(workflow: string, runId: string, service: string): Promise<UnknownRunError> {
    return new UnknownRunError(workflow, runId, describeService(service, await this.#hubs()));
  }

  async #hubs(): Promise<readonly HubDescription[]> {
    return (await this.#transport.fleet.registered()).map(parseDescription);
  }
}

/** Returns the services that registered a workflow. */
function servicesOf(workflow: string, hubs: readonly HubDescription[]): readonly string[] {
  const serving = hubs.filter(({ workflows }) => workflows.some(({ name }) => name === workflow));
  return [...new Set(serving.map(({ service }) => service))].sort();
}

function describeService(service: string, hubs: readonly HubDescription[]): string {
  const count = hubs.filter((hub) => hub.service === service && isRunning(hub)).length;
  const alive = count === 0 ? 'none of its processes is alive' : `${count} of its processes are alive`;
  return `service ${quote(service)} runs it, and ${alive}`;
}
