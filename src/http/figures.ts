/** Counts what a router does, for metrics of its own. */
import type { RouteName } from '../options.ts';
import type { Report } from '../read.ts';
import type { MetricValue, SourcePart } from '../source.ts';
import type { MonitorResponse } from './exchange.ts';

/** What a router has done since it was created. */
export interface Figures {
  /** Answers, by `route` and `code`. */
  readonly requests: LabeledCounter;
  /** Problems that were answered, by `route` and `error`. */
  readonly problems: LabeledCounter;
  /** Calls of sources, by `source` and `call`. */
  readonly reads: LabeledCounter;
  /** Errors that are reported to the host, by `source`, `call` and `error`. */
  readonly errors: LabeledCounter;
  /** Counts an answer when it ends. A client that leaves before it begins has none. */
  watch(route: RouteName, response: MonitorResponse): void;
  countRead(part: SourcePart, call: string): void;
  /** Also counts those errors that are reported too often to be passed on. */
  counting(report: Report): Report;
}

/** A counter for each combination of values of its labels. */
export interface LabeledCounter {
  /** @param values those of the labels, in their order */
  add(...values: readonly string[]): void;
  samples(): Iterable<MetricValue>;
}

export function createFigures(): Figures {
  const requests = createCounter('route', 'code');
  const reads = createCounter('source', 'call');
  const errors = createCounter('source', 'call', 'error');
  return {
    requests,
    problems: createCounter('route', 'error'),
    reads,
    errors,
    watch(route, response) {
      response.once('close', () => {
        if (response.headersSent) requests.add(route, String(response.statusCode));
      });
    },
    countRead: (part, call) => reads.add(part.name, call),
    counting: (report) => (error, context) => {
      errors.add(context.source ?? '', context.call, context.code ?? 'internal');
      report(error, context);
    },
  };
}

function createCounter(...names: readonly string[]): LabeledCounter {
  const values = new Map<string, { readonly labels: MetricValue['labels']; value: number }>();
  return {
    add(...texts) {
      const key = texts.join('\n');
      const known = values.get(key);
      if (known !== undefined) known.value += 1;
      else {
        const labels = Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
        values.set(key, { labels, value: 1 });
      }
    },
    samples: () => values.values(),
  };
}
