// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import { type ChannelServices, openForPerson, type PersonRight } from './device-channel.ts'
import type { LinkChannel } from './link-channel.ts'

declare const services: ChannelServices
declare const right: PersonRight
const open = async () => 'opened'
const audit = 'WithToken'
const limits = 'OfLink'
const pipe = async () => {}

// Each step is required.
const channel = openForPerson(services, { right: async () => right, limits, open, audit, pipe })
// @ts-expect-error there is no right
const unchecked = openForPerson(services, { limits, open, audit, pipe })
const nobody = async () => ({ deviceId: right.deviceId })
// @ts-expect-error the right names no person, so it cannot be watched
const unwatched = openForPerson(services, { right: nobody, limits, open, audit, pipe })
// @ts-expect-error nothing limits the channels
const unlimited = openForPerson(services, { right: async () => right, open, audit, pipe })
// @ts-expect-error nothing audits the channel
const unaudited = openForPerson(services, { right: async () => right, limits, open, pipe })

type Port = LinkChannel<{ deviceId: string }, 'devices_PortForwarded'>
declare const kind: Omit<Port, 'right' | 'event'>
declare const event: Port['event']
const port: Port = { ...kind, event, right: 'manage' }
// @ts-expect-error a kind without a right
const noRight: Port = { ...kind, event }
// @ts-expect-error there is no such right
const strangeRight: Port = { ...kind, event, right: 'possess' }
// @ts-expect-error a kind without an audit event
const noEvent: Port = { ...kind, right: 'manage' }

export type { channel, noEvent, noRight, port, strangeRight, unaudited, unchecked, unlimited, unwatched }
