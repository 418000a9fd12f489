/** Labels of a sample. */
export type Labels = Readonly<Record<string, string>>;

/** Value of one time series. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** Counts of one histogram. */
export interface HistogramSample {
  readonly labels: Labels;
  /** Number of values per bound, not cumulative, and last the number of those above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Media type of the text that {@link Exposition} writes. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Text in the exposition format of Prometheus.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export class Exposition {
  readonly #lines: string[] = [];

  /** Adds a counter or a gauge, unless it has no samples. */
  add(type: 'counter' | 'gauge', name: string, help: string, samples: readonly Sample[]): void {
    if (samples.length === 0) return;
    this.#addHead(type, name, help);
    for (const { labels, value } of samples) this.#addSample(name, labels, value);
  }

  /** Adds a histogram, unless it has no samples. @param bounds upper bounds, ascending */
  addHistogram(name: string, help: string, bounds: readonly number[], samples: readonly HistogramSample[]): void {
    if (samples.length === 0) return;
    this.#addHead('histogram', name, help);
    for (const { labels, counts, sum } of samples) {
      let total = 0;
      for (const [index, count] of counts.entries()) {
        total += count;
        this.#addSample(`${name}_bucket`, { ...labels, le: String(bounds[index] ?? '+Inf') }, total);
      }
      this.#addSample(`${name}_sum`, labels, sum);
      this.#addSample(`${name}_count`, labels, total);
    }
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #addHead(type: string, name: string, help: string): void {
    this.#lines.push(
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
    );
  }

  #addSample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
    this.#lines.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
