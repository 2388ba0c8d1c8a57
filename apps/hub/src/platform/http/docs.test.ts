import { actions } from '@muster/actions'
import { openApiDocument } from '@muster/actions/openapi'
import { ask, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
beforeAll(async () => {
  hub = await testHub()
})
afterAll(() => hub[Symbol.asyncDispose]())

describe('/api/openapi.json', () => {
  it('is the document of the registry with the URL of this hub, without credentials', async () => {
    const answer = await ask(hub, '/api/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.json()).toEqual({ ...openApiDocument(), servers: [{ url: hub.publicUrl }] })
  })
})

describe('/api/docs', () => {
  it('has every action with its summary and a link to it', async () => {
    const { status, headers, text } = await ask(hub, '/api/docs')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    for (const [name, { summary }] of Object.entries(actions)) {
      expect(text).toContain(`<article id="${name}">`)
      expect(text).toContain(`href="#${name}"`)
      expect(text).toContain(summary.replaceAll('<', '&lt;').replaceAll('"', '&quot;'))
    }
  })

  it('has no script and no inline style, and escapes markup in schemas', async () => {
    const { headers, text } = await ask(hub, '/api/docs')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const tag of ['html', 'body', 'nav', 'main', 'article', 'details', 'pre', 'ul', 'dl'])
      expect(text.split(`<${tag}`).length, tag).toBe(text.split(`</${tag}>`).length)
  })

  it('has its style in a file of its own', async () => {
    const { status, headers, text } = await ask(hub, '/api/docs.css')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(text).toContain('color-scheme')
  })
})
