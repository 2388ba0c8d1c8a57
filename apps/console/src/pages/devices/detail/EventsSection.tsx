import type { ActionOutput } from '@muster/actions/client'
import { Bug, CircleQuestionMark, Info, OctagonAlert, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useAction } from '../../../api/queries.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import { JsonValue, LongText } from '../../../ui/app/JsonValue.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { SectionBoundary } from '../../../ui/app/SectionBoundary.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import type { IconType } from '../../../ui/icon.ts'
import { recordOf } from './device-json.ts'
import { EVENT_LIMIT, eventsInput } from './device-queries.ts'

type DeviceEvent = ActionOutput<'devices_QueryEvents'>['events'][number]

const ATTRIBUTES_AT_FIRST = 8

type EventLook = { className: string; icon: IconType }

const LOOKS: Record<DeviceEvent['severity'], EventLook> = {
  Trace: { className: 'ev dbg', icon: Bug },
  Debug: { className: 'ev dbg', icon: Bug },
  Info: { className: 'ev info', icon: Info },
  Warning: { className: 'ev warn', icon: TriangleAlert },
  Error: { className: 'ev bad', icon: OctagonAlert },
  Critical: { className: 'ev bad', icon: OctagonAlert },
}

const UNKNOWN: EventLook = { className: 'ev dbg', icon: CircleQuestionMark }

/** The latest events of a device, newest first. */
export function EventsSection({ deviceId }: { deviceId: string }) {
  return (
    <Section
      id="ev"
      title="Recent Events"
      padded={false}
      aside={<span className="muted">Last {EVENT_LIMIT}</span>}
    >
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
      <div className="in">
        <p className="muted">No events yet.</p>
      </div>
    )
  }
  return (
    <ul>
      {events.map(event => (
        <EventRow key={event.eventId} event={event} />
      ))}
    </ul>
  )
}

function EventRow({ event: { severity, category, body, attributes, emittedAt } }: { event: DeviceEvent }) {
  const { className, icon: Icon } = lookUp(LOOKS, severity, UNKNOWN)
  return (
    <li className={className}>
      <Icon className="i" aria-hidden />
      <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        <span className="t2">{severity}</span>
        {category !== undefined && (
          <>
            {' '}
            <span className="cat">{category}</span>
          </>
        )}{' '}
        {typeof body === 'string' && <LongText text={body} />} <Attributes attributes={attributes} />
        {typeof body !== 'string' && body !== null && <JsonValue value={body} />}
      </div>
      <span className="when">
        <Time at={emittedAt} />
      </span>
    </li>
  )
}

function Attributes({ attributes }: { attributes: unknown }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const entries = Object.entries(recordOf(attributes) ?? {})
  const shown = isWhole ? entries : entries.slice(0, ATTRIBUTES_AT_FIRST)
  return (
    <>
      {shown.map(([key, value]) => (
        <span key={key} className="mono muted">
          <LongText text={`${key} = ${typeof value === 'string' ? value : JSON.stringify(value)}`} />{' '}
        </span>
      ))}
      {entries.length > shown.length && (
        <Button variant="ghost" size="sm" onClick={() => setWhole(true)}>
          Show {entries.length - shown.length} more
        </Button>
      )}
    </>
  )
}
