//! The documentation as a site: `./x site` makes target/site from the documents by mdBook.
//!
//! Order and sections are those of docs/README.md: the index is the one list of pages. mdBook reads a copy in which links lead to what
//! the site has: pages, and copies of the files that pages name. A link to a folder of sources becomes its text.
//! Afterwards all links and anchors of the HTML are checked.

use crate::run::{
    XtaskResult, at, copy, fail, files_below, fresh, program, read, root, run, target, tool_folder, write,
};
use crate::tools::mdbook;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

const BOOK: &str = "\
[book]
title = \"Heddle\"
description = \"SIMD compiler for CPUs\"
language = \"en\"

[output.html]
no-section-label = true
preferred-dark-theme = \"navy\"
additional-css = [\"site.css\"]

[output.html.search]
limit-results = 30
";

/// Documents have lines of up to 150 columns.
const STYLE: &str = ":root { --content-max-width: 1000px; }\n";

/// Chapter of the site: a path in the repository, and its depth below its section.
#[derive(Debug, PartialEq, Eq)]
struct Chapter {
    path: PathBuf,
    depth: usize,
}

/// `./x site`: builds the site, if mdBook is within reach.
pub(crate) fn make() -> XtaskResult {
    if !mdbook()? {
        return Ok(());
    }
    let (source, site) = (target().join("site-source"), target().join("site"));
    fresh(&source)?;
    let sections = sections(&read(&root().join("docs/README.md"))?)?;
    write(&source.join("book.toml"), BOOK)?;
    write(&source.join("site.css"), STYLE)?;
    write(&source.join("src/SUMMARY.md"), summary(&sections)?)?;
    let pages = pages(&sections);
    let mut files = BTreeSet::new();
    for page in &pages {
        let text = link_to_site(page, &read(&root().join(page))?, &pages, &mut files);
        write(&source.join("src").join(place(page)), text)?;
    }
    for file in files {
        copy(&root().join(&file), &source.join("src").join(&file))?;
    }
    let mut build = program(tool_folder("mdbook").join("bin/mdbook"), ["build", "--dest-dir"]);
    run(build.arg(&site).arg(&source).env("MDBOOK_LOG", "warn"))?;
    let links = check(&site)?;
    println!("{}: {} pages, {links} links lead somewhere", site.join("index.html").display(), pages.len());
    Ok(())
}

/// Targets of Markdown links of a line outside of code spans, with their positions.
fn targets(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("](") {
        let start = at + 2;
        if let Some(len) = line[start..].find(')') {
            found.push((start, &line[start..start + len]));
        }
    }
    found
}

/// Returns the path with `..` taken out.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the pages that an index links to, in its order.
fn linked_pages(index: &Path, line: &str) -> Vec<PathBuf> {
    let paths = targets(line).into_iter().map(|(_, link)| link.split('#').next().unwrap_or_default());
    let pages = paths.filter(|path| path.ends_with(".md") && !path.contains("://"));
    pages.map(|path| plain(&index.with_file_name("").join(path))).collect()
}

/// Returns the sections of docs/README.md with their pages; pages of another index follow it.
fn sections(index: &str) -> XtaskResult<Vec<(String, Vec<Chapter>)>> {
    let own = Path::new("docs/README.md");
    let (mut sections, mut seen): (Vec<(String, Vec<Chapter>)>, HashSet<PathBuf>) =
        (Vec::new(), HashSet::new());
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title.to_string(), Vec::new()));
        }
        let Some((_, chapters)) = sections.last_mut() else { continue };
        for path in linked_pages(own, line).into_iter().filter(|path| path != own) {
            if !seen.insert(path.clone()) {
                continue;
            }
            let inner = if path.ends_with("README.md") { read(&root().join(&path))? } else { String::new() };
            let inner: Vec<PathBuf> = inner.lines().flat_map(|line| linked_pages(&path, line)).collect();
            chapters.push(Chapter { path, depth: 0 });
            let inner = inner.into_iter().filter(|path| seen.insert(path.clone()));
            chapters.extend(inner.map(|path| Chapter { path, depth: 1 }));
        }
    }
    Ok(sections)
}

/// Pages before and after the sections.
const BEFORE: [&str; 2] = ["README.md", "docs/README.md"];
const AFTER: &str = "CHANGELOG.md";

/// Returns all pages, each once.
fn pages(sections: &[(String, Vec<Chapter>)]) -> BTreeSet<PathBuf> {
    let chapters = sections.iter().flat_map(|(_, chapters)| chapters).map(|chapter| chapter.path.clone());
    chapters.chain(BEFORE.iter().chain([&AFTER]).map(PathBuf::from)).collect()
}

/// Returns the place of a page in the site's source: an index is `index.md`, which mdBook turns into `index.html`.
fn place(page: &Path) -> PathBuf {
    if page.ends_with("README.md") { page.with_file_name("index.md") } else { page.to_path_buf() }
}

/// Returns the first heading of a page.
fn title(page: &Path) -> XtaskResult<String> {
    let text = read(&root().join(page))?;
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    Ok(title.map(str::to_string).ok_or_else(|| format!("{} has no title", page.display()))?)
}

fn summary(sections: &[(String, Vec<Chapter>)]) -> XtaskResult<String> {
    let link = |page: &Path| XtaskResult::Ok(format!("[{}]({})", title(page)?, place(page).display()));
    let mut text = "# Summary\n\n".to_string();
    for page in BEFORE {
        text += &format!("{}\n", link(Path::new(page))?);
    }
    for (title, chapters) in sections {
        text += &format!("\n# {title}\n\n");
        for chapter in chapters {
            text += &format!("{}- {}\n", "  ".repeat(chapter.depth), link(&chapter.path)?);
        }
    }
    Ok(text + &format!("\n---\n\n{}\n", link(Path::new(AFTER))?))
}

/// Returns a page whose links lead to places of the site; collects the files that it names.
fn link_to_site(page: &Path, text: &str, pages: &BTreeSet<PathBuf>, files: &mut BTreeSet<PathBuf>) -> String {
    let mut is_code = false;
    let mut result = String::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let mut line = line.to_string();
        let found: Vec<(usize, String)> =
            targets(&line).into_iter().map(|(at, link)| (at, link.to_string())).collect();
        for (at, link) in found.into_iter().rev() {
            if is_code || link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
                continue;
            }
            let (path, fragment) =
                link.split_once('#').map_or((&*link, None), |(path, part)| (path, Some(part)));
            let path = plain(&page.with_file_name("").join(path));
            let index = path.join("README.md");
            let path = if pages.contains(&index) { index } else { path };
            if pages.contains(&path) {
                let up = "../".repeat(page.components().count() - 1);
                let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
                line.replace_range(at..at + link.len(), &format!("{up}{}{fragment}", place(&path).display()));
            } else if root().join(&path).is_file() {
                files.insert(path);
            } else if let Some(start) = line[..at].rfind('[') {
                // A folder of sources.
                let shown = line[start + 1..at - 2].to_string();
                line.replace_range(start..=at + link.len(), &shown);
            }
        }
        result += &line;
        result.push('\n');
    }
    result
}

/// Values of an attribute in HTML.
fn values<'a>(html: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    html.match_indices(attribute).filter_map(move |(at, _)| {
        let rest = html[at + attribute.len()..].strip_prefix("=\"")?;
        let is_word = html[..at].ends_with(char::is_whitespace);
        is_word.then(|| rest.split('"').next().unwrap_or_default())
    })
}

/// Checks all links of the site; returns their number.
fn check(site: &Path) -> XtaskResult<usize> {
    let mut texts = HashMap::new();
    for path in files_below(site)?.into_iter().filter(|path| path.extension().is_some_and(|it| it == "html"))
    {
        texts.insert(path.clone(), read(&path)?);
    }
    let (mut count, mut broken) = (0, BTreeSet::new());
    for (page, html) in &texts {
        // The page for lost readers names its files from the root of a server; the one for printers repeats all others.
        if page.ends_with("404.html") || page.ends_with("print.html") || page.ends_with("toc.html") {
            continue;
        }
        for link in values(html, "href").chain(values(html, "src")) {
            if link.contains(':') || link.is_empty() {
                continue;
            }
            count += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let wanted =
                if path.is_empty() { page.clone() } else { plain(&page.with_file_name("").join(path)) };
            let has_anchor =
                || texts.get(&wanted).is_none_or(|html| values(html, "id").any(|id| id == fragment));
            if !at(&wanted, wanted.try_exists())? || !fragment.is_empty() && !has_anchor() {
                broken.insert(format!("{}: {link}", page.display()));
            }
        }
    }
    let broken: Vec<String> = broken.into_iter().collect();
    if broken.is_empty() { Ok(count) } else { fail(format!("links lead nowhere:\n{}", broken.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_has_all_documents_in_reading_order() {
        let sections =
            sections(&read(&root().join("docs/README.md")).expect("it is there")).expect("all are there");
        let names: Vec<&str> = sections.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["How to", "Reference", "Design"]);
        let pages = pages(&sections);
        for file in files_below(&root().join("docs")).expect("it can be listed") {
            let name = file.strip_prefix(root()).expect("it is below the root");
            let is_page = file.extension().is_some_and(|it| it == "md");
            assert!(!is_page || pages.contains(name), "{} is not in docs/README.md", name.display());
        }
        let summary = summary(&sections).expect("all pages have titles");
        assert!(
            summary.contains("# How to\n\n- [Run an OpenCL program](docs/howto/opencl.md)\n"),
            "{summary}"
        );
        assert!(
            summary.contains("\n- [Decisions](docs/decisions/index.md)\n  - [1. One session"),
            "{summary}"
        );
    }

    #[test]
    fn links_lead_to_places_of_the_site() {
        let pages = ["README.md", "docs/README.md", "docs/ir.md"].map(PathBuf::from).into();
        let mut files = BTreeSet::new();
        let text = "[a](../README.md) [b](ir.md#text) [`c`](../crates/xtask) [d](../x)\n```\n[e](../README.md)\n```\n";
        let found = link_to_site(Path::new("docs/README.md"), text, &pages, &mut files);
        assert_eq!(
            found,
            "[a](../index.md) [b](../docs/ir.md#text) `c` [d](../x)\n```\n[e](../README.md)\n```\n"
        );
        assert_eq!(files, [PathBuf::from("x")].into());
    }

    #[test]
    fn links_to_missing_pages_and_anchors_are_seen() {
        let folder = std::env::temp_dir().join(format!("heddle-site-{}", std::process::id()));
        let page =
            |link: &str| write(&folder.join("a.html"), format!("<h1 id=\"one\"></h1><a href=\"{link}\">"));
        for (link, is_good) in [("a.html#one", true), ("#one", true), ("#two", false), ("b.html", false)] {
            page(link).expect("it can be written");
            assert_eq!(check(&folder).is_ok(), is_good, "{link}");
        }
        std::fs::remove_dir_all(folder).expect("it can be removed");
    }
}
