/**
 * `Content-Disposition` of a file to save under a name (RFC 6266, RFC 8187): only the last part of a path, in plain letters for
 * old programs and whole for the others; nothing in it can end the header.
 */
export function attachment(filename: string): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1).toWellFormed()
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${whole}`}`
}
