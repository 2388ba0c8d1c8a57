import { agentCommand } from '@muster/actions/client'
import { Link } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Id } from '../../ui/app/Id.tsx'
import { Mark } from '../../ui/app/Mark.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { Breadcrumb } from '../../ui/lazy/Breadcrumb.tsx'
import { Card, CardFoot } from '../../ui/lazy/Card.tsx'
import { CardGrid } from '../../ui/lazy/CardGrid.tsx'
import { DangerLine, DangerZone } from '../../ui/lazy/DangerZone.tsx'
import { Secret } from '../../ui/lazy/Secret.tsx'
import { Stat, Stats } from '../../ui/lazy/Stats.tsx'
import { Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { type Bin, Strip } from '../../ui/Strip.tsx'
import styles from './DesignSystemPage.module.css'

const SAMPLE_ID = 'd_1J8ZoiK5QmVt3xYpRw7HcN'

const SAMPLE_COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title', sort: 'name' },
  { name: 'Id' },
  { name: 'First Seen', sort: 'firstSeen' },
  { name: 'Status' },
]

/** Ids, commands and secrets with copy buttons. */
export function CodeSamples() {
  return (
    <div className="stack">
      <Code prompt label="Copy command" text={agentCommand('https://fleet.example', 'token.txt')} />
      <Secret what="token" text="deployment_4Zk9Qm2vX7rT1sLw8NcB5yHf3JpGd6AeUt" />
      <div className="wrap">
        <Id id={SAMPLE_ID} what="device id" />
      </div>
    </div>
  )
}

/** A table with rows and a loading table. */
export function TableSamples() {
  const [sort, setSort] = useState('name')
  const head = { columns: SAMPLE_COLUMNS, sort, onSort: setSort }
  return (
    <div className="stack">
      <Table
        {...head}
        caption="Samples"
        rows={[
          <Row key={SAMPLE_ID}>
            <Cell>
              <a className="name" href="#table">
                crane-gw-01
              </a>
            </Cell>
            <Cell>
              <Id id={SAMPLE_ID} what="device id" />
            </Cell>
            <Cell>
              <Time at="2026-04-02T08:14:00Z" />
            </Cell>
            <Cell>
              <Mark state="on">Connected</Mark>
            </Cell>
          </Row>,
        ]}
      />
      <Table {...head} caption="Samples, loading" rows={undefined} bars={3} onPhones={null} />
    </div>
  )
}

const BINS: Bin[] = Array.from({ length: 42 }, (_, index) => ({
  devices: 1,
  connected: index % 11 === 7 ? 0 : 1,
  pending: index === 26 || index === 29 ? 1 : 0,
}))
const SHARED_BINS: Bin[] = Array.from({ length: 54 }, (_, index) => ({
  devices: 10,
  connected: 10 - (index % 7),
  pending: index === 20 ? 1 : 0,
}))
const HOURS = Array.from({ length: 168 }, (_, hour) => {
  if (hour < 20) return undefined
  if (hour > 60 && hour < 66) return 0
  return hour === 66 ? 0.5 : 1
})

/** Samples of `Strip`, a row of vertical marks, in its sizes. */
export function StripSamples() {
  return (
    <div className="stack">
      <Strip bins={BINS} label="38 of 42 devices connected, 2 with pending certificates" />
      <Strip bins={SHARED_BINS} label="378 of 540 devices connected, 1 with pending certificates" />
      <Strip size="list" bins={BINS} label="38 of 42 devices connected, 2 with pending certificates" />
      <Strip size="history" shares={HOURS} label="Connected 95.2 percent of the last 7 days" />
      <Strip bins={[]} label="No devices" />
      <p className={`secondary ${styles.small}`}>
        One tick a device: tall is connected, short is disconnected, capped has a pending certificate.
      </p>
    </div>
  )
}

/** Samples of page layout: breadcrumb, row of numbers, card, section and danger zone. */
export function LayoutSamples() {
  return (
    <div className="stack">
      <Breadcrumb
        links={[
          <Link key="devices" to="/design-system">
            Devices
          </Link>,
        ]}
        here="edge-gateway-07"
      />
      <Stats>
        <Stat label="Devices" value={443} />
        <Stat label="Connected" mark="on" value={413} note="93 %" />
        <Stat label="Disconnected" mark="off" value={30} />
        <Stat label="Pending certificates" mark="pending" value={undefined} />
      </Stats>
      <CardGrid>
        <Card
          title={<Link to="/design-system">Harbor crane gateways</Link>}
          id={<Id id={SAMPLE_ID} what="id" />}
        >
          <Strip bins={BINS} label="38 of 42 devices connected, 2 with pending certificates" />
          <CardFoot end="42 devices">
            <Mark state="on">38 connected</Mark>
            <Mark state="off">4 disconnected</Mark>
          </CardFoot>
        </Card>
      </CardGrid>
      <Section title="Section" aside={<Button size="sm">Button</Button>}>
        A sheet with a heading.
      </Section>
      <DangerZone>
        <DangerLine
          name="Delete Device"
          consequence="Deletes the device with its history."
          icon={Trash2}
          busyLabel="Deleting…"
          act={async () => {}}
          failure="Could not delete the device"
        />
      </DangerZone>
    </div>
  )
}
