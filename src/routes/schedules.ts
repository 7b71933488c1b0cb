import type { Schedule } from '../model.ts';
import type { ScheduleBody, SchedulesBody } from '../wire.ts';
import { createDocument } from './document.ts';
import { draftOf, readItems } from './draft.ts';
import { keyOf } from './key.ts';
import { defineRoute, type Respond } from './route.ts';
import { sendDocument, tagOf } from './send.ts';

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
        draft(list, source) {
          const { shown, unreadable } = readItems<Schedule, ScheduleBody>(list, MOST_SCHEDULES, (schedule) =>
            monitor.serializer.schedule(schedule, source.name),
          );
          return draftOf({ enabled: true, schedules: shown }, { unreadable });
        },
      });
  },
});

function notEnabled(): Respond {
  const body: SchedulesBody = { enabled: false, schedules: [], sources: [] };
  const json = JSON.stringify(body);
  const document = { body: Buffer.from(json), etag: tagOf(json) };
  return (request, response) => sendDocument(request, response, document);
}
