/** Counts the work of a router, for own metrics. */
import type { RouteName } from '../options.ts';
import type { Report } from '../read.ts';
import type { MetricValue, SourcePart } from '../source.ts';
import type { MonitorResponse } from './exchange.ts';

/** The work of a router since it was created. */
export interface Figures {
  /** Answers, by `route` and `code`. */
  readonly requests: LabeledCounter;
  /** Problems sent as answers, by `route` and `error`. */
  readonly problems: LabeledCounter;
  /** Calls of sources, by `source` and `call`. */
  readonly reads: LabeledCounter;
  /** Errors reported to the host, by `source`, `call` and `error`. */
  readonly errors: LabeledCounter;
  /** Counts an answer when it ends. There is none if the client disconnects before it begins. */
  watch(route: RouteName, response: MonitorResponse): void;
  countRead(part: SourcePart, call: string): void;
  /** Also counts errors that are suppressed because they are too frequent. */
  counting(report: Report): Report;
}

/** A counter for each combination of values of its labels. */
export interface LabeledCounter {
  /** @param values values of the labels, in their order */
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
