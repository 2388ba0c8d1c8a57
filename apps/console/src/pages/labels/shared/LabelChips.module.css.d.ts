declare const styles: {
  readonly key: string
  readonly label: string
  readonly line: string
  readonly more: string
  readonly value: string
}
export default styles
