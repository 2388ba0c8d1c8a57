import type { ActionOutput } from '@muster/actions/client'
import { counted } from '../../lib/app/format.ts'
import { Section } from '../../ui/app/Section.tsx'

/** Section with the number of days for which the hub keeps each kind of data. The days are settings of the hub, equal for all projects. */
export function RetentionSection({ eventDays, auditDays }: ActionOutput<'projects_GetDetails'>['retention']) {
  const days = <b>{counted(eventDays, 'day')}</b>
  return (
    <Section title="Retention" padded={false}>
      <dl className="ret">
        <dt>Device events</dt>
        <dd>{days}</dd>
        <dt>Connections</dt>
        <dd>{days} after their end, and always the last one</dd>
        <dt>Property history</dt>
        <dd>{days}, and always the current value</dd>
        <dt>Audit log</dt>
        <dd>
          <b>{auditDays === undefined ? 'For ever' : counted(auditDays, 'day')}</b>, sealed every 5 minutes
        </dd>
      </dl>
      <p className="pins-note">Set for the whole hub by an administrator.</p>
    </Section>
  )
}
