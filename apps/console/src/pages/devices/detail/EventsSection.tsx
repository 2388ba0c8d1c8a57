import type { ActionOutput } from '@muster/actions/client'
import { stringify } from '@muster/actions/exact-json'
import { Link } from '@tanstack/react-router'
import { useAction } from '../../../api/queries.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { cut } from './cut.ts'
import { EVENT_LIMIT, eventsInput } from './device-queries.ts'
import styles from './EventsSection.module.css'
import shared from './sections.module.css'
import { EventText, WrongClock } from './timeline/Sentence.tsx'
import { severityLook } from './timeline/severity-look.ts'

type DeviceEvent = ActionOutput<'devices_QueryEvents'>['events'][number]

/** The latest events of a device, newest first. */
export function EventsSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="ev" className={styles.section} title="Recent Events" padded={false}>
      <SectionBoundary what="events">
        <Events deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function Events({ deviceId }: { deviceId: string }) {
  const { events } = useAction('devices_QueryEvents', eventsInput(deviceId))
  if (events.length === 0) {
    return (
      <div className="inset">
        <p className="muted">No events yet.</p>
      </div>
    )
  }
  return (
    <>
      <ul>
        {events.map(event => (
          <EventRow key={event.eventId} event={event} />
        ))}
      </ul>
      <footer className={`touch-area ${shared.foot} ${styles.foot}`}>
        <span className="muted">{events.length === EVENT_LIMIT && `Last ${EVENT_LIMIT}`}</span>
        <Link from="/org_{$organization}/projects/$projectId/devices/$deviceId" to="./events">
          All events
        </Link>
      </footer>
    </>
  )
}

function EventRow({ event }: { event: DeviceEvent }) {
  const { severity, category, body, attributes, emittedAt, receivedAt, clockErrorSecs } = event
  const { tone, icon: Icon } = severityLook(severity)
  return (
    <li className={styles.event} data-tone={tone}>
      <Icon className="icon" aria-hidden />
      <div className="break-anywhere">
        <span className="secondary">{severity}</span>{' '}
        {category !== undefined && (
          <>
            <bdi className={`muted ${styles.category}`}>{cut(category, MAX_ATTRIBUTE_CHARS)}</bdi>{' '}
          </>
        )}
        <EventText body={body} />
        <WrongClock errorSecs={clockErrorSecs} /> <Attributes attributes={attributes} />
      </div>
      <span className={`muted ${styles.time}`}>
        <Time at={clockErrorSecs === undefined ? emittedAt : receivedAt} />
      </span>
    </li>
  )
}

/** Number of attributes in a row. The page of all events shows the others. */
const MAX_ATTRIBUTES = 6
/** Maximum length, in characters, of an attribute's name or value in a row. */
const MAX_ATTRIBUTE_CHARS = 60

/** The attributes of an event on one line: "attempt = 2". */
function Attributes({ attributes }: { attributes: unknown }) {
  const entries = Object.entries((attributes ?? {}) as Record<string, unknown>)
  if (entries.length === 0) return null
  return (
    <span className={`muted ${styles.attributes}`}>
      {entries.slice(0, MAX_ATTRIBUTES).map(([name, value]) => (
        <bdi key={name} className="mono">
          {cut(name, MAX_ATTRIBUTE_CHARS)} ={' '}
          {cut(typeof value === 'string' ? value : stringify(value), MAX_ATTRIBUTE_CHARS)}
        </bdi>
      ))}
      {entries.length > MAX_ATTRIBUTES && <span>{entries.length - MAX_ATTRIBUTES} more</span>}
    </span>
  )
}
