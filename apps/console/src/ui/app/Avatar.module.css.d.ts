declare const styles: {
  readonly avatar: string
  readonly self: string
}
export default styles
