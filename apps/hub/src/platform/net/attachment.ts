/**
 * Makes the `Content-Disposition` header of a download (RFC 6266, RFC 8187). The header contains the last part of `filename` in
 * ASCII. If that changes the name, the header also contains the full name, which old clients ignore. All characters that could
 * end a value are replaced or encoded.
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
