declare const styles: {
  readonly caption: string
  readonly foot: string
}
export default styles
