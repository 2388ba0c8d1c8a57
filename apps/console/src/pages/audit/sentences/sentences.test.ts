import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { actions } from '@muster/actions'
import { describe, expect, it } from 'vitest'
import { groupsOf } from '../groups.ts'
import type { Entry, Said } from '../shared/entry.ts'
import { ACTION_PHRASES } from './action-phrases.ts'
import { EVENT_SENTENCES } from './event-sentences.ts'
import { KINDS, type Kind } from './kinds.ts'
import { iconOf, namesOf } from './names.ts'
import { partsOf } from './sentence.ts'
import { subjectLink, withoutNoun } from './subject-link.ts'

const API = readFileSync(join(import.meta.dirname, '../../../../../../docs/api.md'), 'utf8')
const EVENTS = [
  ...API.slice(API.indexOf('<!-- events'), API.indexOf('<!-- events end')).matchAll(/^\| `(\w+)`/gm),
].map(([, name]) => name!)

/** The sentence of an entry as plain text, without its actor. */
function text(entry: Partial<Said> & { event: string }): string {
  const said = { actor: { actor: 'User', userId: 'u_1' }, data: {}, ...entry } as Said
  return partsOf(said)
    .map(part => (part.kind === 'subject' ? (part.name ?? part.id) : part.text))
    .join('')
}

describe('the table of sentences', () => {
  it('has every audit event of docs/api.md and no other', () => {
    expect(EVENTS.length).toBeGreaterThan(60)
    expect(Object.keys(EVENT_SENTENCES).sort()).toEqual(EVENTS.toSorted())
  })

  it('has a phrase for every action that can fail in the log', () => {
    // Queries and preferences leave no failed action in the log.
    const audited = Object.entries(actions).flatMap(([name, { kind }]) =>
      kind === 'command' || kind === 'telemetry' ? [name] : [],
    )
    expect(Object.keys(ACTION_PHRASES).sort()).toEqual([...audited, 'users_InitiateSession'].sort())
  })

  it('can say every event and action without any data', () => {
    for (const event of Object.keys(EVENT_SENTENCES))
      expect(text({ event }), event).not.toContain('undefined')
    for (const event of Object.keys(ACTION_PHRASES))
      expect(text({ event, status: 'Failed' }), event).toMatch(/^could not (?!.*undefined)/)
  })

  it('says what an action did in the past tense', () => {
    const verbs = new Set(
      Object.keys(ACTION_PHRASES).map(event => text({ event, status: 'Succeeded' }).split(' ')[0]!),
    )
    expect([...verbs].filter(verb => !/^[a-z]+ed$/.test(verb)).sort()).toEqual(['set', 'withdrew'])
    for (const wrong of ['canceled', 'taged', 'withdrawed']) expect(verbs).not.toContain(wrong)
  })

  it('has at most 100 names of a kind, which is the limit of the filter', () => {
    for (const kind of Object.keys(KINDS) as Kind[])
      expect(namesOf(kind).length, kind).toBeLessThanOrEqual(100)
  })
})

describe('a sentence', () => {
  const deviceId = 'd_7QnR4tZk2WmVx9LbHc8sPy'

  it.each([
    [
      'accepted the certificate of D',
      { event: 'devices_CertificateStatusChanged', data: { deviceId: 'D', status: 'Active' } },
    ],
    [
      'revoked the certificate of D',
      { event: 'devices_CertificateStatusChanged', data: { deviceId: 'D', status: 'Revoked' } },
    ],
    [
      'set the status Melted for the certificate of D',
      { event: 'devices_CertificateStatusChanged', data: { deviceId: 'D', status: 'Melted' } },
    ],
    [
      'renamed a to b',
      { event: 'devices_NameChanged', data: { deviceId: 'D', name: 'b' }, old: { name: 'a' } },
    ],
    [
      'opened the HTTP proxy to port 80 of D for 2 hours from 203.0.113.41',
      {
        event: 'devices_PortForwarded',
        data: { deviceId: 'D', port: 80, hostname: 'd.example', validForSecs: 7200 },
        address: '203.0.113.41',
      },
    ],
    ['forwarded port 22 of D', { event: 'devices_PortForwarded', data: { deviceId: 'D', port: 22 } }],
    [
      'began rejecting 1 certificate of P',
      { event: 'devices_BulkActionStarted', data: { projectId: 'P', kind: 'Reject', itemCount: 1 } },
    ],
    [
      'began deleting 12 devices of P',
      { event: 'devices_BulkActionStarted', data: { projectId: 'P', kind: 'Delete', itemCount: 12 } },
    ],
    [
      'removed Grace Hopper from the organization',
      { event: 'organizations_MemberRemoved', data: { userId: 'u_2' }, old: { name: 'Grace Hopper' } },
    ],
    [
      'renamed the version 1.0 to 1.1',
      {
        event: 'repositories_PackageVersionNameChanged',
        data: { versionId: 'V', name: '1.1' },
        old: { name: '1.0' },
      },
    ],
    ['named the device b', { event: 'devices_NameChanged', data: { deviceId: 'D', name: 'b' } }],
    ['could not delete D', { event: 'devices_Delete', status: 'Rejected' as const, data: { deviceId: 'D' } }],
    [
      'could not revoke the certificate of D',
      {
        event: 'devices_SetCertificateStatus',
        status: 'Failed' as const,
        data: { status: 'Revoked' },
        owners: { deviceId: 'D' } as never,
      },
    ],
    [
      'revoked the certificate of D',
      {
        event: 'devices_SetCertificateStatus',
        status: 'Succeeded' as const,
        data: { deviceId: 'D', status: 'Revoked' },
      },
    ],
    [
      'named the device b',
      { event: 'devices_SetName', status: 'Succeeded' as const, data: { deviceId: 'D', name: 'b' } },
    ],
    [
      'could not rename the project P to b',
      { event: 'projects_SetName', status: 'Failed' as const, data: { projectId: 'P', name: 'b' } },
    ],
    ['deleted D', { event: 'devices_Delete', status: 'Succeeded' as const, data: { deviceId: 'D' } }],
    ['tried to delete D', { event: 'devices_Delete', status: 'Pending' as const, data: { deviceId: 'D' } }],
    ['did devices_Paint', { event: 'devices_Paint', status: 'Succeeded' as const }],
    ['did devices_Painted', { event: 'devices_Painted', data: { colour: 'red' } }],
    ['could not do devices_Paint', { event: 'devices_Paint', status: 'Failed' as const }],
    ['did constructor', { event: 'constructor' }],
  ])('says %j', (expected, entry) => {
    expect(text(entry as never)).toBe(expected)
  })

  it('cuts a value of 1 MiB between characters', () => {
    const name = '😀'.repeat(300_000)
    const said = text({ event: 'projects_NameChanged', data: { name } })
    expect(said.length).toBeLessThan(400)
    expect(said.isWellFormed()).toBe(true)
  })

  it('has a neutral icon for an unknown event', () => {
    expect(iconOf('devices_Painted')).toBe(iconOf('toString'))
    expect(iconOf('devices_Painted')).not.toBe(iconOf('devices_Created'))
  })

  it('links a thing that exists and shows the name of a deleted one', () => {
    const organizationId = 'org_1' as never
    const projectId = 'p_1' as never
    const subjects = { [deviceId]: { name: 'crane', organizationId, projectId } }
    expect(subjectLink(deviceId, subjects, false)).toEqual({
      label: 'crane',
      to: `/org_1/projects/p_1/devices/${deviceId}`,
    })
    expect(subjectLink(deviceId, { [deviceId]: { name: 'crane', isDeleted: true } }, false)).toEqual({
      label: 'crane',
    })
    expect(subjectLink(deviceId, {}, false)).toEqual({ label: deviceId })
    expect(subjectLink('__proto___x', {}, false)).toEqual({ label: '__proto___x' })
  })

  it.each([
    ['u', 'a deleted account'],
    ['u_pk', 'a deleted token'],
    ['deployment_id', 'a deleted token'],
    ['d', 'a deleted device'],
    ['p', 'a deleted project'],
    ['repo', 'a deleted repository'],
    ['pkg_v', 'a deleted version'],
  ])('calls a deleted thing with an id of %s without a name %s', (prefix, label) => {
    const id = `${prefix}_7QnR4tZk2WmVx9LbHc8sPy`
    expect(subjectLink(id, { [id]: { isDeleted: true } }, true)).toEqual({ label, isNoun: true })
    expect(subjectLink(id, {}, true)).toEqual({ label: id })
  })

  it('does not repeat the kind of a deleted thing', () => {
    expect(withoutNoun('turned auto-accept of the token ')).toBe('turned auto-accept of ')
    expect(withoutNoun('created the user token ')).toBe('created ')
    expect(withoutNoun('withdrew the administration of the instance from ')).toBe(
      'withdrew the administration of the instance from ',
    )
  })
})

describe('groups of entries', () => {
  const entry = (deviceId: string, actionId: string, more: Partial<Entry> = {}): Entry =>
    ({
      eventId: `e${deviceId}${actionId}`,
      event: 'devices_PropertySet',
      actor: { actor: 'System' },
      data: { deviceId, propertyName: 'a' },
      createdAt: '2026-11-23T01:14:07.000Z',
      action: { actionId },
      ...more,
    }) as Entry

  it('join entries of one action on several devices', () => {
    const groups = groupsOf([entry('d1', 'x'), entry('d2', 'x'), entry('d3', 'y')])
    expect(groups.map(({ entries, several }) => [entries.length, several])).toEqual([
      [2, { field: 'deviceId', count: 2 }],
      [1, undefined],
    ])
  })

  it('C31: join at least four like acts of one actor within 60 s', () => {
    const rename = (second: number, more: Partial<Entry> = {}) =>
      entry(`d${second}`, `a${second}`, {
        event: 'devices_NameChanged',
        data: { deviceId: `d${second}`, name: `crane-${second}` },
        createdAt: new Date(Date.parse('2026-11-23T01:14:00Z') - second * 1000).toISOString(),
        ...more,
      })
    const sizes = (entries: Entry[]) => groupsOf(entries).map(group => group.entries.length)
    expect(sizes([0, 10, 20, 59, 60, 70].map(second => rename(second)))).toEqual([4, 1, 1])
    expect(sizes([0, 10, 20].map(second => rename(second)))).toEqual([1, 1, 1])
    const failed = [0, 1, 2, 3].map(second => rename(second, { status: 'Failed' }))
    expect(sizes(failed)).toEqual([1, 1, 1, 1])
    const byOthers = [0, 1, 2, 3].map(second =>
      rename(second, { actor: { actor: 'User', userId: `u_${second}` } as never }),
    )
    expect(sizes(byOthers)).toEqual([1, 1, 1, 1])
  })

  it('keep entries apart that say something else, repeat themselves or have no action', () => {
    const other = entry('d2', 'x', { data: { deviceId: 'd2', propertyName: 'b' } })
    expect(groupsOf([entry('d1', 'x'), other])).toHaveLength(2)
    expect(groupsOf([entry('d1', 'x'), entry('d1', 'x')])).toHaveLength(2)
    const { action: _, ...alone } = entry('d1', 'x')
    expect(groupsOf([alone, { ...alone, data: { deviceId: 'd2', propertyName: 'a' } }])).toHaveLength(2)
  })
})
