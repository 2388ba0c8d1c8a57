import { describe, expect, it } from 'vitest'
import type { Action } from './define.ts'
import { actionsMarkdown, openApiDocument, permissionsMarkdown, whoMay } from './openapi.ts'
import { ROLES, rolesOf } from './permissions.ts'
import { actions } from './registry.ts'

type Json = Record<string, unknown>
type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security?: Json[]
  requestBody: { required: boolean; content: Record<string, { schema: Json }> }
  responses: Record<string, { description: string; content: Record<string, { schema: Json }> }>
}

const entries = Object.entries(actions) as [string, Action][]
const document = openApiDocument() as {
  openapi: string
  info: Json
  tags: { name: string }[]
  paths: Record<string, { post: Operation }>
  components: { schemas: Record<string, Json>; securitySchemes: Record<string, Json> }
}
const operations = Object.entries(document.paths).map(([path, { post }]) => ({ path, ...post }))

/** Yields every JSON schema nested in a JSON schema, including the schema itself. */
function* schemasIn(schema: unknown): Generator<Json> {
  if (typeof schema !== 'object' || schema === null) return
  if (!Array.isArray(schema)) yield schema as Json
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const member of Object.values(value as Json)) yield* schemasIn(member)
    else if (!['enum', 'const', 'required', 'default'].includes(key)) yield* schemasIn(value)
  }
}

describe('the OpenAPI document', () => {
  it('is of version 3.1 and has its required members', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    expect(Object.keys(document).sort()).toEqual(['components', 'info', 'openapi', 'paths', 'tags'])
  })

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  it('describes every action once, under its own name', () => {
    expect(operations.map(({ operationId }) => operationId)).toEqual(entries.map(([name]) => name))
    for (const { path, operationId } of operations) expect(path).toBe(`/api/v1/actions/invoke/${operationId}`)
  })

  it('lists the tags that it uses', () => {
    const used = new Set(operations.flatMap(({ tags }) => tags))
    expect(document.tags.map(({ name }) => name)).toEqual([...used])
  })

  it('names security schemes and schemas that exist', () => {
    const { securitySchemes, schemas } = document.components
    for (const { security = [] } of operations)
      for (const scheme of security.flatMap(Object.keys)) expect(securitySchemes).toHaveProperty(scheme)
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      expect(schemas).toHaveProperty(name!)
    expect(text.match(/"\$ref":"(?!#\/components\/schemas\/)/g)).toBeNull()
  })

  it('requires a sign-in wherever an action does', () => {
    for (const [name, { permission }] of entries) {
      const { security } = document.paths[`/api/v1/actions/invoke/${name}`]!.post
      expect(security, name).toEqual(
        permission === 'anyone' ? undefined : [{ session: [] }, { userToken: [] }],
      )
    }
  })

  it('has a schema that is valid for each body: known types, required members that exist, patterns that compile', () => {
    const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
    for (const { operationId, requestBody, responses } of operations) {
      const bodies = [requestBody, ...Object.values(responses)].map(
        body => body.content['application/json']!.schema,
      )
      expect(bodies[0], operationId).toMatchObject({ type: 'object' })
      for (const schema of bodies.flatMap(body => [...schemasIn(body)])) {
        for (const type of [schema.type ?? []].flat()) expect(types, operationId).toContain(type)
        if (schema.pattern !== undefined)
          expect(() => new RegExp(schema.pattern as string, 'u')).not.toThrow()
        for (const member of (schema.required as string[] | undefined) ?? [])
          expect(schema.properties, operationId).toHaveProperty([member])
      }
    }
  })

  it('describes each failure with the error of the wire', () => {
    for (const { responses } of operations) {
      expect(Object.keys(responses)).toEqual(
        '200 400 401 403 404 409 413 415 421 429 500 502 503 507'.split(' '),
      )
      for (const [status, { description, content }] of Object.entries(responses)) {
        expect(description.length).toBeGreaterThan(0)
        if (status !== '200')
          expect(content['application/json']!.schema).toEqual({ $ref: '#/components/schemas/ActionError' })
      }
    }
    expect(document.components.schemas.ActionError).toMatchObject({
      required: ['kind', 'message'],
      properties: { kind: { enum: ['Invalid', 'Forbidden', 'Internal', 'RateLimited'] } },
    })
  })

  it('allows unknown fields, and leaves optional fields optional', () => {
    for (const [name, { input }] of entries) {
      const schema =
        document.paths[`/api/v1/actions/invoke/${name}`]!.post.requestBody.content['application/json']!.schema
      expect(schema.additionalProperties, name).not.toBe(false)
      for (const [field, member] of Object.entries(
        (input as unknown as { shape: Record<string, Action['input']> }).shape,
      )) {
        const isRequired = ((schema.required as string[] | undefined) ?? []).includes(field)
        expect(isRequired, `${name}.${field}`).toBe(!member.safeParse(undefined).success)
      }
    }
  })
})

describe('the page of actions', () => {
  const page = actionsMarkdown()

  it('has each action with its summary, its older names and what is shown once', () => {
    for (const [name, { summary, aliases, shownOnce }] of entries) {
      const section = page.split(`### ${name}\n`)[1]?.split('\n### ')[0]
      expect(section, name).toContain(summary)
      for (const alias of aliases) expect(section).toContain(`\`${alias}\``)
      for (const field of shownOnce) expect(section).toContain(`Shown only once: ${field}`)
    }
  })

  it('states when a sign-in must be recent, and how often an action may be called', () => {
    for (const [name, { recentSignIn, rateLimit, isCreation = false }] of entries) {
      const section = page.split(`### ${name}\n`)[1]?.split('\n### ')[0]
      const { description } = document.paths[`/api/v1/actions/invoke/${name}`]!.post
      for (const text of [section, description]) {
        expect(text?.includes('Needs a recent sign-in'), name).toBe(recentSignIn !== undefined)
        expect(text?.includes('calls in'), name).toBe(rateLimit !== undefined)
        expect(text?.includes('Counts towards the limit of creations'), name).toBe(isCreation)
      }
    }
    expect(page).toContain('- 20 calls in 15 min from one address\n')
    expect(page).toContain('- 10 calls in 15 min by one person\n')
  })

  it('shows shapes that a person can read', () => {
    expect(page).not.toContain('undefined')
    expect(page).not.toContain('[object')
    expect(page).toContain('flags: {autoAccept?: boolean, ownCertificate?: boolean}')
  })
})

describe('the permission of an action in words', () => {
  it.each([
    ['anyone', 'anyone, signed in or not'],
    ['user', 'every person who is signed in'],
    ['admin', 'administrators of the instance'],
    ['device', 'the device itself'],
    [{ can: 'view', on: 'user', id: 'x' }, 'the person; administrators of the instance'],
    [
      { can: 'view', on: 'organization', id: 'x' },
      'members of the organization; administrators of the instance',
    ],
    [{ can: 'manage', on: 'project', id: 'x' }, "members of the project's organization"],
    [
      { can: 'delete', on: 'deploymentToken', id: 'x' },
      "members of the deployment token's organization; administrators of the instance",
    ],
    [
      { can: 'delete', on: 'organization', id: 'x' },
      'administrators of the organization; administrators of the instance',
    ],
    [
      { can: 'administer', on: 'organization', id: 'x' },
      'administrators of the organization; administrators of the instance',
    ],
    [
      { can: 'administer', on: 'organization', id: 'x', orOneself: 'y' },
      'administrators of the organization; the member in question; administrators of the instance',
    ],
    [
      { can: 'administer', on: 'invitation', id: 'x' },
      'administrators of the organization; administrators of the instance',
    ],
    [{ can: 'administer', on: 'project', id: 'x' }, 'administrators of the organization'],
    [{ can: 'own', on: 'invitation', id: 'x' }, 'the invited person'],
    [{ can: 'own', on: 'user', id: 'x' }, 'the person'],
    [{ can: 'own', on: 'session', id: 'x' }, 'the person'],
    [{ can: 'manage', on: 'user', id: 'x' }, 'the person; administrators of the instance'],
    [{ can: 'manage', on: 'userToken', id: 'x' }, 'the person; administrators of the instance'],
    [{ can: 'report', on: 'device', id: 'x' }, 'the device itself; members of its organization'],
    [
      { can: 'inspect', on: 'device', id: 'x' },
      'the device itself; members of its organization; administrators of the instance',
    ],
  ] as const)('%j reads %s', (permission, words) => {
    expect(whoMay(permission)).toBe(words)
  })
})

describe('the page of permissions', () => {
  const rows = permissionsMarkdown()
    .split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.split('|').map(cell => cell.trim()))

  it('has one row for each action, marked by the rule that the hub applies', () => {
    expect(rows.slice(2).map(([, name]) => name)).toEqual(entries.map(([name]) => name))
    for (const [name, { permission }] of entries) {
      const marks = rows.find(row => row[1] === name)!.slice(2, 2 + ROLES.length)
      const roles = rolesOf(permission)
      expect(marks, name).toEqual(ROLES.map(role => (roles.has(role) ? 'yes' : '–')))
    }
  })

  it('has a heading for every column and a note for every condition', () => {
    for (const row of rows) expect(row).toHaveLength(ROLES.length + 4)
    expect(rows[0]!.slice(1, -1).every(heading => heading !== '')).toBe(true)
    for (const [name, { recentSignIn, rateLimit, needsSession, isCreation }] of entries)
      expect(rows.find(row => row[1] === name)!.at(-2) !== '', name).toBe(
        recentSignIn !== undefined || rateLimit !== undefined || needsSession === true || isCreation === true,
      )
  })
})
