declare const styles: {
  readonly caption: string
  readonly filled: string
  readonly foot: string
}
export default styles
