declare const styles: {
  readonly day: string
  readonly foot: string
  readonly key: string
  readonly list: string
}
export default styles
