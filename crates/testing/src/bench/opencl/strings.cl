// Where a pattern stands in a text: each work-item compares at one place, up to the first difference.
kernel void search(global const uchar *text, constant uchar *pattern, int length, global uchar *found) {
  int at = get_global_id(0), i = 0;
  while (i < length && text[at + i] == pattern[i])
    i++;
  found[at] = i == length;
}
