import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ReadBuffer } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { McpProcessServer } from './mcp-server.js';

/** Parts of the SDK that the transport needs. The SDK is loaded at first use. */
export interface StdioParts {
  /** Splits output into messages. */
  readonly buffer: ReadBuffer;
  readonly serialize: (message: JSONRPCMessage) => string;
  /** Environment variables of every server. */
  readonly baseEnv: Readonly<Record<string, string>>;
}

/** Time for the processes to end after their input was closed, and again after each signal. */
const endTimeoutMs = 2_000;
const pollMs = 20;

/**
 * Transport to a server that is a process of its own. In contrast to the SDK's, it starts the server in a process group
 * and ends the whole group: children that ignore the end of their input would outlive the server. Windows has no
 * groups: there, only the server's process is ended.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: McpProcessServer;
  readonly #parts: StdioParts;
  #process: ChildProcess | undefined;
  #ending: Promise<void> | undefined;

  constructor(server: McpProcessServer, parts: StdioParts) {
    this.#server = server;
    this.#parts = parts;
  }

  /** Rejects with the system's error if the process cannot be started. */
  async start(): Promise<void> {
    const { command, args = [], env, cwd, stderr = 'ignore' } = this.#server;
    const started = spawn(command, args, {
      env: { ...this.#parts.baseEnv, ...env },
      stdio: ['pipe', 'pipe', stderr],
      detached: process.platform !== 'win32',
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    started.stdin?.on('error', (error) => this.onerror?.(error));
    started.stdout?.on('error', (error) => this.onerror?.(error));
    started.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    await once(started, 'spawn');
    this.#process = started;
    started.on('error', (error) => this.onerror?.(error));
    // Children may hold the output open, which delays `close`.
    started.on('exit', () => void this.close());
    started.on('close', () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (!stdin || this.#ending !== undefined) throw new Error('Not connected');
    // `onerror` receives the error, and `onclose` ends the request.
    await new Promise<void>((resolve) => stdin.write(this.#parts.serialize(message), () => resolve()));
  }

  /** Ends the server and its children: by the end of the input, then `SIGTERM`, then `SIGKILL`. Every call waits. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const ended = this.#process;
    if (ended === undefined) return;
    ended.stdin?.end();
    if (!(await waitUntil(() => !isGroupRunning(ended)))) {
      signalGroup(ended, 'SIGTERM');
      if (!(await waitUntil(() => !isGroupRunning(ended)))) {
        signalGroup(ended, 'SIGKILL');
        // Killed children may stay in the group until the system's first process reaps them.
        await waitUntil(() => !isRunning(ended));
      }
    }
    this.#parts.buffer.clear();
  }

  #read(chunk: Buffer): void {
    const { buffer } = this.#parts;
    try {
      buffer.append(chunk);
    } catch (error) {
      this.#report(error);
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    if (error instanceof Error) this.onerror?.(error);
  }
}

/** Waits until a condition holds, but not for longer than the limit. No event tells the end of a child's child. */
async function waitUntil(holds: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; !holds(); waitedMs += pollMs) {
    if (waitedMs >= endTimeoutMs) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function isGroupRunning(started: ChildProcess): boolean {
  return isRunning(started) || signalGroup(started, 0);
}

/** Returns `false` if no process has received the signal. */
function signalGroup(started: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    // Without a group, only the process itself.
    return process.platform === 'win32' || started.pid === undefined
      ? started.kill(signal)
      : process.kill(-started.pid, signal);
  } catch {
    return false;
  }
}
