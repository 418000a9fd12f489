import { type Alert, createHub, type Hub, type HubOptions } from 'hubline';

/** Describes a problem in one line. */
export function describeAlert({ status, problem, service }: Alert): string {
  const { kind, eventType, workflow, schedule, failed, ended, pending, lastError } = problem;
  const facts = [
    failed === undefined ? '' : `${failed} of ${ended} failed in 5 min`,
    pending === undefined ? '' : `${pending} pending`,
    lastError === undefined ? '' : `${lastError.name}: ${lastError.message}`,
  ];
  const subject = eventType ?? workflow ?? schedule ?? problem.service ?? service;
  return [`${status}: ${kind} ${subject}`, ...facts].filter((fact) => fact !== '').join(', ');
}

/** Posts JSON. A response that is no success rejects, so that the hub sends the alert again. */
async function post(url: string, body: unknown, signal: AbortSignal, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new Error(`the alert was refused with status ${response.status}`);
}

/** Sends alerts to a channel of Slack, by an incoming webhook. */
export function alertSlack(hub: Hub, webhookUrl: string): void {
  hub.alert({
    name: 'slack',
    afterMs: 60_000,
    repeatMs: 4 * 3_600_000,
    send: (alert, { signal }) => post(webhookUrl, { text: describeAlert(alert) }, signal),
  });
}

/** Opens incidents in PagerDuty for errors that last, and resolves them. */
export function alertPagerDuty(hub: Hub, routingKey: string, url = 'https://events.pagerduty.com/v2/enqueue'): void {
  hub.alert({
    name: 'pagerduty',
    when: ({ severity }) => severity === 'error',
    afterMs: 5 * 60_000,
    send: (alert, { signal }) => {
      const summary = describeAlert(alert);
      const event = {
        routing_key: routingKey,
        event_action: alert.status === 'firing' ? 'trigger' : 'resolve',
        dedup_key: alert.incident,
        payload: { summary, source: alert.service, severity: alert.problem.severity },
      };
      return post(url, event, signal);
    },
  });
}

/** Sends alerts by mail, through the HTTP interface of Postmark. */
export function alertByMail(hub: Hub, token: string, to: string, url = 'https://api.postmarkapp.com/email'): void {
  hub.alert({
    name: 'mail',
    afterMs: 60_000,
    repeatMs: 24 * 3_600_000,
    send: (alert, { signal }) => {
      const Subject = describeAlert(alert);
      const TextBody = `${Subject}\nsince ${new Date(alert.since).toISOString()}\nmessage ${alert.id}`;
      const mail = { From: 'hub@example.com', To: to, Subject, TextBody };
      return post(url, mail, signal, { 'x-postmark-server-token': token });
    },
  });
}

/** Part of an error tracker such as Sentry. */
export interface ErrorTracker {
  captureException(error: unknown, context: { contexts: { event: Record<string, unknown> } }): void;
}

/** Creates a hub that tells an error tracker of each terminal failure. */
export function createTrackedHub(tracker: ErrorTracker, options: HubOptions = {}): Hub {
  return createHub({
    ...options,
    onFailure: ({ error, ...event }) => tracker.captureException(error, { contexts: { event } }),
  });
}
