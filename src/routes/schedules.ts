import { type AnswerContent, contentOfList, readItems } from '../http/answer-body.ts';
import { createDocument, keyOf } from '../http/document.ts';
import { type Respond, sendDocument, tagOf } from '../http/exchange.ts';
import { defineRoute } from '../http/route.ts';
import type { Schedule } from '../model.ts';
import type { ScheduleBody, SchedulesBody } from '../wire.ts';

// More entries than any beat has.
const MOST_SCHEDULES = 10_000;

/** `GET /api/beat/schedules/` */
export const schedules = defineRoute({
  name: 'schedules',
  path: '/api/beat/schedules/',
  summary: 'Periodic schedules, when beat is enabled',
  query: {},
  body: 'SchedulesBody',
  errors: ['source_invalid', 'source_unavailable', 'source_timeout'],
  cached: true,
  open(monitor) {
    const part = monitor.sources.schedules;
    if (part === undefined) return notEnabled;
    return (asked) =>
      createDocument(monitor, {
        part,
        call: 'listSchedules',
        key: keyOf('schedules', asked),
        read: (source, context) => source.listSchedules(context),
        *content(list, sourceOf) {
          if (list === null) return NOT_ENABLED;
          const { shown, unreadable } = yield* readItems<Schedule, ScheduleBody>(
            list,
            MOST_SCHEDULES,
            sourceOf,
            (schedule) => monitor.serializer.schedule(schedule, sourceOf(schedule)),
          );
          return yield* contentOfList({
            before: '"enabled":true,"schedules":[',
            rows: shown.map((schedule) => JSON.stringify(schedule)),
            after: ']',
            generatedAt: false,
            unreadable,
          });
        },
      });
  },
});

const NOT_ENABLED_JSON = JSON.stringify({
  enabled: false,
  schedules: [],
  sources: [],
} satisfies SchedulesBody);
const NOT_ENABLED: AnswerContent = { stable: NOT_ENABLED_JSON, render: () => NOT_ENABLED_JSON };

function notEnabled(): Respond {
  const document = { body: Buffer.from(NOT_ENABLED_JSON), etag: tagOf(NOT_ENABLED_JSON) };
  return (request, response) => sendDocument(request, response, document);
}
