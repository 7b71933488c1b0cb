import { MonitorError } from '../errors.ts';
import { onLeave } from './on-leave.ts';
import { defineRoute } from './route.ts';
import { sendFresh } from './send.ts';

/** `GET /metrics`: the exporter's answer, its body and content type unchanged. */
export const metricsRoute = defineRoute({
  name: 'metrics',
  path: '/metrics',
  summary: "The metrics exporter's answer",
  query: {},
  body: null,
  errors: ['metrics_disabled', 'exporter_invalid', 'exporter_unavailable', 'exporter_timeout'],
  cached: false,
  passes: ({ options }) => options.metrics?.query ?? [],
  open({ metrics, options }) {
    return ({ pairs }) => {
      const query = new URLSearchParams(pairs.filter(([name]) => options.metrics?.query.includes(name)));
      return async (request, response) => {
        if (metrics === null) throw new MonitorError('metrics_disabled');
        const client = new AbortController();
        const stay = onLeave(response)(() => client.abort());
        const { headers, method } = request;
        const { accept } = headers;
        const reply = await metrics
          .scrape({ accept, query, method, headers, signal: client.signal })
          .finally(stay);
        sendFresh(request, response, 200, reply.contentType, reply.body);
      };
    };
  },
});
