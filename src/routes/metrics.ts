import { isMonitorError, MonitorError } from '../errors.ts';
import { onLeave } from '../http/on-leave.ts';
import { defineRoute } from '../http/route.ts';
import { sendFresh } from '../http/send.ts';
import { CLIENT_GONE } from '../read.ts';
import { collectFigures } from './monitor-figures.ts';

/** `GET /metrics`: what this library counts, or the exporter's response with its body and content type unchanged. */
export const metricsRoute = defineRoute({
  name: 'metrics',
  path: '/metrics',
  summary: 'Metrics for Prometheus',
  query: {},
  body: null,
  errors: ['metrics_disabled', 'exporter_invalid', 'exporter_unavailable', 'exporter_timeout'],
  cached: false,
  passes: ({ options }) => options.metrics?.query ?? [],
  open(monitor) {
    const { metrics, ownMetrics, options, report } = monitor;
    if (ownMetrics !== null) ownMetrics.add(collectFigures(monitor));
    return ({ pairs }) => {
      const query = new URLSearchParams(pairs.filter(([name]) => options.metrics?.query.includes(name)));
      return async (request, response) => {
        if (metrics === null) throw new MonitorError('metrics_disabled');
        const client = new AbortController();
        const stay = onLeave(response)(() => client.abort());
        const { headers, method } = request;
        const { accept } = headers;
        try {
          const { signal } = client;
          const reply = await metrics.scrape({ accept, query, method, headers, signal });
          sendFresh(request, response, 200, reply.contentType, reply.body);
        } catch (error) {
          // The client has disconnected: there is no error to report.
          if (client.signal.aborted) throw CLIENT_GONE;
          if (isMonitorError(error)) report(error, { code: error.code, source: null, call: 'metrics' });
          throw error;
        } finally {
          stay();
        }
      };
    };
  },
});
